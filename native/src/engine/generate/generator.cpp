#include "generate/generator.hpp"

#include <algorithm>

#include "base/stop_watch.hpp"
#include "kv/stateful_runner.hpp"
#include "runtime/properties.hpp"

namespace pergola {
namespace {

constexpr double kSlowStepMs = 20;

/// Hands out runners with their facts filled in.
std::unique_ptr<KvRunner> make_runner(const std::shared_ptr<LanguageModel>& model, const KvLimits& limits, RowAssembler* rows, GeneratorInfo& info) {
    if (model->paged) {
        auto runner = std::make_unique<PagedRunner>(model, limits, rows);
        info.block_size = runner->block_size();
        info.kv_bytes_per_token = runner->bytes_per_token();
        info.kv_precision = runner->kv_precision();
        return runner;
    }
    auto runner = std::make_unique<StatefulRunner>(model, limits, rows);
    info.kv_bytes_per_token = runner->bytes_per_token();
    info.kv_precision = model->kv_precision;
    return runner;
}

}  // namespace

Generator::Generator(const GeneratorOptions& options, const LoadControl& control, EventSink sink) : sink_(std::move(sink)) {
    model_ = open_language_model(options.model, control, info_.shared);
    info_.paged = model_->paged;
    info_.device = model_->device;
    info_.from_cache = model_->from_cache;
    info_.fallback_reason = model_->fallback_reason();
    info_.timings = model_->timings;
    try {
        open_parts(options, control);
        runner_ = make_runner(model_, options.kv, rows_.get(), info_);
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
        warm_up(control);
        model_->drop_load_memory();
        info_.timings.warm_up_ms = milliseconds(start, Clock::now());
    }
    control.check();
    publish_stats();
    thread_ = std::thread([this] { loop(); });
}

Generator::~Generator() { close(); }

/// Embeddings and head, where they are graphs of their own.
void Generator::open_parts(const GeneratorOptions& options, const LoadControl& control) {
    const std::string& file = options.model.source.main_file();
    const auto open = [&](const GraphFiles& files) {
        GraphOptions graph;
        graph.files = files;
        graph.device = options.model.device;
        graph.properties = options.model.properties;
        graph.cache_dir = options.model.cache_dir;
        bool shared = false;
        return open_graph(graph, control, shared);
    };
    if (model_->takes_rows) {
        if (!options.embeddings.given()) throw EngineError::model(file, file + " takes embedding rows (inputs_embeds), but there is no graph that makes them of token ids");
        rows_ = std::make_unique<RowAssembler>(open(options.embeddings), options.generated_embeddings.given() ? open(options.generated_embeddings) : nullptr);
        info_.hidden_size = rows_->width();
        generates_text_ = !rows_->has_generated();
    }
    position_axes_ = model_->position_axes;
    info_.vocab_size = model_->output_width;
    if (model_->gives_hidden) {
        if (!options.head.given()) throw EngineError::model(file, file + " gives hidden states, but there is no graph that makes logits of them");
        head_ = std::make_unique<RowGraph>(open(options.head), model_->output_width);
        info_.vocab_size = head_->width();
    }
}

std::vector<float*> Generator::infer(const std::vector<Chunk>& chunks) {
    auto rows = runner_->run(chunks);
    if (!head_ || rows.empty()) return rows;
    const size_t width = model_->output_width;
    const float* first = rows.front();
    for (size_t i = 1; i < rows.size(); ++i)
        if (rows[i] != first + i * width) first = nullptr;
    if (!first) {
        hidden_.resize(rows.size() * width);
        for (size_t i = 0; i < rows.size(); ++i) std::copy_n(rows[i], width, hidden_.data() + i * width);
        first = hidden_.data();
    }
    float* logits = head_->apply(first, rows.size());
    for (size_t i = 0; i < rows.size(); ++i) rows[i] = logits + i * head_->width();
    return rows;
}

/// The CPU plugin's kernels for more than four rows take disproportionately long with large matrices (2026.4, AVX-512: 1.2 billion int8
/// weights, 83 ms for four rows, 250 for eight). Whether two inferences are quicker than one is measured, not assumed.
void Generator::measure_batches(const LoadControl& control) {
    constexpr size_t kSmallBatch = 4, kLargeBatch = 8;
    constexpr double kWorthwhile = 0.9;
    const std::vector<int64_t> ids(2, 0);
    SequenceInput input;
    input.prompt_size = ids.size();
    std::vector<Chunk> chunks;
    size_t attached = 0;
    bool fits = true;
    for (; fits && attached < kLargeBatch; ++attached) {
        runner_->attach(attached, ids, 0);
        fits = runner_->reserve(attached, ids.size());
        chunks.push_back({attached, ids.data(), 1, 0, true, &input});
    }
    const auto time_of = [&](size_t count) {
        double last = 0;
        for (int round = 0; round < 2; ++round) {  // the first one makes the kernels
            control.check();
            const auto start = Clock::now();
            infer({chunks.begin(), chunks.begin() + static_cast<std::ptrdiff_t>(count)});
            last = milliseconds(start, Clock::now());
        }
        return last;
    };
    std::exception_ptr failure;
    try {
        if (fits && 2 * time_of(kSmallBatch) < kWorthwhile * time_of(kLargeBatch)) model_->quick_sequences = kSmallBatch;
    } catch (...) {
        failure = std::current_exception();
    }
    for (size_t i = 0; i < attached; ++i) runner_->release(i);
    runner_->clear_cache();
    if (failure) std::rethrow_exception(failure);
}

void Generator::warm_up(const LoadControl& control) {
    // Kernels are made at the first inference of each kind; the ids do not matter, so the prefix cache is not touched.
    constexpr size_t kPrompt = 16;
    constexpr size_t kSteps = 3;
    if (info_.max_request_tokens < kPrompt + kSteps) return;
    const std::vector<int64_t> ids(kPrompt + kSteps, 0);
    SequenceInput input;
    input.prompt_size = kPrompt;
    double step_ms = 0;
    runner_->attach(0, ids, 0);
    if (runner_->reserve(0, ids.size())) {
        try {
            infer({{0, ids.data(), kPrompt, 0, true, &input}});
            for (size_t i = 0; i < kSteps; ++i) {
                const auto start = Clock::now();
                infer({{0, ids.data() + kPrompt + i, 1, kPrompt + i, true, &input}});
                step_ms = milliseconds(start, Clock::now());
            }
        } catch (const std::exception& error) {
            runner_->release(0);
            throw EngineError(ErrorCode::Native, "the first inference on " + info_.device + " failed: " + runtime_reason(error.what()));
        }
    }
    runner_->release(0);
    runner_->clear_cache();
    // Where a step is quick there is nothing to gain, and the measurement would be noise.
    if (info_.paged && runs_on_cpu(info_.device) && step_ms > kSlowStepMs) measure_batches(control);
}

void Generator::check(const RequestInput& input) const {
    const auto refuse = [](const char* subject, const std::string& message) {
        EngineError error(ErrorCode::Option, message);
        error.subject = subject;
        throw error;
    };
    if (input.prompt.size() + 1 > info_.max_request_tokens)
        throw EngineError::context_length(info_.max_request_tokens, input.prompt.size() + 1,
                                          "the prompt has " + std::to_string(input.prompt.size()) + " tokens; the context holds " +
                                              std::to_string(info_.max_request_tokens) + " with the answer");
    if (input.prompt.empty()) refuse("prompt", "the prompt has no token");
    // Where image tokens are made, a row of logits does not tell how many text tokens there are; their embeddings do not either.
    for (const auto* prompt : {&input.prompt, &input.guidance_prompt})
        for (int64_t token : *prompt)
            if (token < 0 || (generates_text_ && static_cast<size_t>(token) >= info_.vocab_size))
                refuse("prompt", "token id " + std::to_string(token) + " is outside the model's vocabulary of " + std::to_string(info_.vocab_size));
    if (input.guidance_prompt.size() != (input.guidance_prompt.empty() ? 0 : input.prompt.size()))
        refuse("guidance", "the unconditional prompt has " + std::to_string(input.guidance_prompt.size()) + " tokens, the prompt " + std::to_string(input.prompt.size()));
    if (info_.hidden_size == 0 && !input.rows.empty()) refuse("promptRows", "this model takes token ids only");
    size_t end = 0;
    for (const auto& [rows, key] : input.rows) {
        if (rows.start < end || rows.count == 0 || rows.start + rows.count > input.prompt.size() || rows.values.size() != rows.count * info_.hidden_size)
            refuse("promptRows", "rows at " + std::to_string(rows.start) + " do not fit: " + std::to_string(rows.values.size()) + " numbers for " +
                                     std::to_string(rows.count) + " rows of " + std::to_string(info_.hidden_size));
        end = rows.start + rows.count;
    }
    const size_t axes = input.position_axes == 0 ? 1 : input.position_axes;
    if ((input.position_axes > 0 && input.positions.size() != axes * input.prompt.size()) || (input.position_axes > 0 && axes != position_axes_))
        refuse("positions", "the model takes positions on " + std::to_string(position_axes_) + " axes for each of " + std::to_string(input.prompt.size()) + " tokens");
}

void Generator::submit(uint64_t id, RequestInput input) {
    check(input);
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
    if (rows_) rows_->interrupt();
    if (head_) head_->interrupt();
}

void Generator::close() {
    interrupt();
    std::lock_guard<std::mutex> once(closing_mutex_);
    if (thread_.joinable()) thread_.join();
    scheduler_.reset();
    runner_.reset();
    rows_.reset();
    head_.reset();
    model_.reset();
}

}  // namespace pergola
