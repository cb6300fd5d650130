#include "generator.hpp"

#include <algorithm>

#include "stateful_runner.hpp"

namespace pergola {
namespace {

/// Hands out runners with their facts filled in.
std::unique_ptr<KvRunner> make_runner(const std::shared_ptr<LanguageModel>& model, const KvLimits& limits, GeneratorInfo& info) {
    if (model->paged) {
        auto runner = std::make_unique<PagedRunner>(model, limits);
        info.block_size = runner->block_size();
        info.kv_bytes_per_token = runner->bytes_per_token();
        info.kv_precision = runner->kv_precision();
        return runner;
    }
    auto runner = std::make_unique<StatefulRunner>(model, limits);
    info.kv_bytes_per_token = runner->bytes_per_token();
    info.kv_precision = model->kv_precision;
    return runner;
}

}  // namespace

Generator::Generator(const GeneratorOptions& options, const LoadControl& control, EventSink sink) : sink_(std::move(sink)) {
    model_ = open_language_model(options.model, control, info_.shared);
    info_.paged = model_->paged;
    info_.device = model_->device;
    info_.vocab_size = model_->vocab_size;
    info_.from_cache = model_->from_cache;
    info_.fallback_reason = model_->fallback_reason;
    info_.timings = model_->timings;
    try {
        runner_ = make_runner(model_, options.kv, info_);
    } catch (const EngineError&) {
        throw;
    } catch (const std::exception& error) {
        throw EngineError(ErrorCode::Native, "the model could not be prepared for inference on " + info_.device + ": " + runtime_reason(error.what()));
    }
    scheduler_ = std::make_unique<Scheduler>(*runner_, options.scheduler);
    info_.kv_capacity_tokens = runner_->capacity_tokens();
    const uint64_t context = options.kv.context_length;
    info_.max_request_tokens = context > 0 ? std::min<uint64_t>(context, info_.kv_capacity_tokens) : info_.kv_capacity_tokens;
    if (options.warm_up && !info_.shared) {
        control.enter(LoadStage::WarmUp);
        model_->drop_load_memory();  // what was read so far, before kernels pack their own copies
        const auto start = Clock::now();
        warm_up();
        model_->drop_load_memory();
        info_.timings.warm_up_ms = milliseconds(start, Clock::now());
    }
    control.check();
    publish_stats();
    thread_ = std::thread([this] { loop(); });
}

Generator::~Generator() { close(); }

void Generator::warm_up() {
    // Kernels are made at the first inference of each kind; the ids do not matter, so the prefix cache is not touched.
    constexpr size_t kPrompt = 16;
    constexpr size_t kSteps = 3;
    if (info_.max_request_tokens < kPrompt + kSteps) return;
    const std::vector<int64_t> ids(kPrompt + kSteps, 0);
    runner_->attach(0, ids);
    if (runner_->reserve(0, ids.size())) {
        try {
            runner_->run({{0, ids.data(), kPrompt, 0, true}});
            for (size_t i = 0; i < kSteps; ++i) runner_->run({{0, ids.data() + kPrompt + i, 1, kPrompt + i, true}});
        } catch (const std::exception& error) {
            runner_->release(0);
            throw EngineError(ErrorCode::Native, "the first inference on " + info_.device + " failed: " + runtime_reason(error.what()));
        }
    }
    runner_->release(0);
    runner_->clear_cache();
}

void Generator::submit(uint64_t id, RequestInput input) {
    if (input.prompt.size() + 1 > info_.max_request_tokens)
        throw EngineError::context_length(info_.max_request_tokens, input.prompt.size() + 1,
                                          "the prompt has " + std::to_string(input.prompt.size()) + " tokens; the context holds " +
                                              std::to_string(info_.max_request_tokens) + " with the answer");
    if (input.prompt.empty()) {
        EngineError error(ErrorCode::Option, "the prompt has no token");
        error.subject = "prompt";
        throw error;
    }
    for (int64_t token : input.prompt)
        if (token < 0 || static_cast<size_t>(token) >= info_.vocab_size) {
            EngineError error(ErrorCode::Option, "token id " + std::to_string(token) + " is outside the model's vocabulary of " +
                                                     std::to_string(info_.vocab_size));
            error.subject = "prompt";
            throw error;
        }
    auto request = std::make_unique<Request>(id, std::move(input), info_.vocab_size);
    {
        std::lock_guard<std::mutex> lock(mutex_);
        if (closing_) throw EngineError(ErrorCode::Disposed, "the generator is closed");
        inbox_.push_back(std::move(request));
    }
    wake_.notify_one();
}

void Generator::stop(uint64_t id) {
    {
        std::lock_guard<std::mutex> lock(mutex_);
        stops_.push_back(id);
    }
    wake_.notify_one();
}

GeneratorStats Generator::stats() const {
    std::lock_guard<std::mutex> lock(mutex_);
    return stats_;
}

void Generator::interrupt() {
    std::lock_guard<std::mutex> once(closing_mutex_);
    {
        std::lock_guard<std::mutex> lock(mutex_);
        closing_ = true;
    }
    wake_.notify_one();
    if (runner_) runner_->interrupt();
}

void Generator::close() {
    interrupt();
    std::lock_guard<std::mutex> once(closing_mutex_);
    if (thread_.joinable()) thread_.join();
    scheduler_.reset();
    runner_.reset();
    model_.reset();
}

}  // namespace pergola
