#include "speech/transcriber.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>

#include "base/error.hpp"
#include "base/stop_watch.hpp"
#include "base/vector_math.hpp"
#include "speech/alignment.hpp"

namespace pergola {

Transcriber::Transcriber(const TranscriberOptions& options, const LoadControl& control) : options_(options) {
    for (const auto& [layer, head] : options.alignment_heads) {
        auto& layers = options_.model.alignment_layers;
        if (std::find(layers.begin(), layers.end(), layer) == layers.end()) layers.push_back(layer);
    }
    model_ = open_whisper_model(options_.model, control, info_.shared);
    const std::string& file = options_.model.encoder.xml;
    if (model_->mel_bins != options.mel_bins)
        throw EngineError::model(file, file + " takes spectrograms of " + std::to_string(model_->mel_bins) + " bands, the configuration says " +
                                           std::to_string(options.mel_bins) + ": the files do not belong together");
    const auto& tokens = options.tokens;
    for (const int64_t id : {tokens.end_of_text, tokens.start_of_transcript, tokens.no_timestamps, tokens.timestamp_begin, tokens.no_speech})
        if (id >= static_cast<int64_t>(model_->vocab_size))
            throw EngineError::model(options_.model.decoder.xml, options_.model.decoder.xml + " has " + std::to_string(model_->vocab_size) +
                                                                     " tokens, but the configuration names token " + std::to_string(id) +
                                                                     ": the files do not belong together");
    encoder_ = model_->encoder.compiled.create_infer_request();
    decoder_ = model_->decoder.compiled.create_infer_request();
    for (size_t layer = 0; layer < model_->layers; ++layer)
        for (const char* what : {"key", "value"}) cross_names_.push_back(cross_name(what, layer));
    for (const auto& [layer, head] : options.alignment_heads) {
        const auto heads = model_->encoder.compiled.output(cross_name("key", layer)).get_partial_shape()[1];
        if (heads.is_static() && head >= static_cast<size_t>(heads.get_length()))
            throw EngineError::model(options_.model.decoder.xml, options_.model.decoder.xml + " has " + std::to_string(heads.get_length()) +
                                                                     " heads a layer, but generation_config.json names alignment head " +
                                                                     std::to_string(head) + ": the files do not belong together");
    }
    info_.device = model_->encoder.device;
    info_.vocab_size = model_->vocab_size;
    info_.window_frames = model_->window_frames;
    info_.max_positions = options.max_positions;
    info_.from_cache = model_->encoder.from_cache;
    info_.timings = model_->encoder.timings;
    if (options.warm_up) {
        control.enter(LoadStage::WarmUp);
        const StopWatch watch;
        warm_up();
        info_.timings.warm_up_ms = watch.ms();
        control.check();
    }
    stats_ = {};
}

void Transcriber::warm_up() {
    // Kernels are made and weights packed at the first inference of each shape.
    auto mel = std::make_shared<LogMel>(options_.mel_bins);
    TranscriberCall call;
    const auto ids = encode({{mel, 0, 0}}, call);
    DecodeInput input;
    input.window = ids.front();
    input.prompt = {options_.tokens.start_of_transcript};
    DecodeOptions decode_options;
    decode_options.max_new_tokens = 4;
    decode_options.rules.tokens = options_.tokens;
    decode({input}, decode_options, call);
    release(ids);
}

std::vector<uint64_t> Transcriber::encode(const std::vector<WindowInput>& windows, TranscriberCall& call) {
    const auto running = begin_call();
    std::vector<uint64_t> result;
    ov::Tensor features(ov::element::f32, {1, options_.mel_bins, model_->window_frames});
    try {
        for (const auto& input : windows) {
            if (call.stop || closed_) break;
            const StopWatch watch;
            if (input.mel->bins() != options_.mel_bins)
                throw EngineError(ErrorCode::Option, "this model takes spectrograms of " + std::to_string(options_.mel_bins) + " bands, not " +
                                                         std::to_string(input.mel->bins()));
            input.mel->read(input.start, std::min(input.count, model_->window_frames), model_->window_frames, 0.f, features.data<float>());
            encoder_.set_input_tensor(features);
            auto encoded = std::make_shared<Window>();
            // The encoder writes into the window's own memory.
            for (const auto& name : cross_names_) {
                const auto port = model_->encoder.compiled.output(name);
                ov::PartialShape shape = port.get_partial_shape();
                shape[0] = 1;
                if (shape.is_dynamic()) throw EngineError(ErrorCode::Native, "the encoder's output " + name + " has no fixed shape");
                encoded->tensors.emplace_back(port.get_element_type(), shape.to_shape());
                encoder_.set_tensor(port, encoded->tensors.back());
            }
            encoder_.infer();
            std::lock_guard<std::mutex> lock(windows_mutex_);
            result.push_back(++last_window_);
            windows_[result.back()] = std::move(encoded);
            call.timings.encode_ms += watch.ms();
            std::lock_guard<std::mutex> stats_lock(stats_mutex_);
            ++stats_.encoded_windows;
        }
    } catch (...) {
        release(result);
        rethrow_inference_error();
    }
    return result;
}

void Transcriber::release(const std::vector<uint64_t>& ids) {
    std::lock_guard<std::mutex> lock(windows_mutex_);
    for (const uint64_t id : ids) windows_.erase(id);
}

Transcriber::WindowPointer Transcriber::window(uint64_t id) const {
    std::lock_guard<std::mutex> lock(windows_mutex_);
    const auto found = windows_.find(id);
    if (found == windows_.end()) throw EngineError(ErrorCode::Option, "there is no encoded window " + std::to_string(id));
    return found->second;
}

std::vector<Transcriber::WindowPointer> Transcriber::windows_of(const std::vector<uint64_t>& ids) const {
    std::vector<WindowPointer> result;
    for (const uint64_t id : ids) result.push_back(window(id));
    return result;
}

void Transcriber::bind_windows(const std::vector<WindowPointer>& windows) {
    if (windows == bound_) return;
    if (windows.size() == 1) {
        // No copy: the decoder reads the window's own memory.
        for (size_t i = 0; i < cross_names_.size(); ++i) decoder_.set_tensor(cross_names_[i], windows[0]->tensors[i]);
        bound_ = windows;
        batched_.clear();
        return;
    }
    const bool grow = batched_.empty() || batched_.front().get_shape()[0] < windows.size();
    if (grow) {
        batched_.clear();
        bound_.clear();
        for (const auto& tensor : windows[0]->tensors) {
            ov::Shape shape = tensor.get_shape();
            shape[0] = windows.size();
            batched_.emplace_back(tensor.get_element_type(), shape);
        }
    }
    const size_t before = bound_.size();
    std::vector<WindowPointer> now = bound_;
    now.resize(std::max(before, windows.size()));
    for (size_t row = 0; row < windows.size(); ++row) {
        if (now[row] == windows[row]) continue;
        for (size_t i = 0; i < cross_names_.size(); ++i) {
            const ov::Tensor& from = windows[row]->tensors[i];
            std::memcpy(static_cast<char*>(batched_[i].data()) + row * from.get_byte_size(), from.data(), from.get_byte_size());
        }
        now[row] = windows[row];
    }
    // Rows beyond the batch keep what they hold; the decoder sees the first ones.
    for (size_t i = 0; i < cross_names_.size(); ++i) {
        ov::Shape shape = batched_[i].get_shape();
        shape[0] = windows.size();
        decoder_.set_tensor(cross_names_[i], ov::Tensor(batched_[i].get_element_type(), shape, batched_[i].data()));
    }
    now.resize(windows.size());
    bound_ = std::move(now);
}

float* Transcriber::infer(const std::vector<int64_t>& ids, size_t rows, const std::vector<int32_t>& parents, const std::vector<int64_t>& sampled) {
    const size_t count = ids.size() / rows;
    for (const int64_t id : ids)
        if (id < 0 || id >= static_cast<int64_t>(model_->vocab_size))
            throw EngineError(ErrorCode::Option, "the model has " + std::to_string(model_->vocab_size) + " tokens, none with the id " + std::to_string(id));
    ov::Tensor input(ov::element::i64, {rows, count}), beams(ov::element::i32, {rows}), wanted(ov::element::i64, {sampled.size()});
    std::copy(ids.begin(), ids.end(), input.data<int64_t>());
    std::copy(sampled.begin(), sampled.end(), wanted.data<int64_t>());
    if (parents.empty()) {
        decoder_.reset_state();
        for (size_t i = 0; i < rows; ++i) beams.data<int32_t>()[i] = static_cast<int32_t>(i);
    } else {
        std::copy(parents.begin(), parents.end(), beams.data<int32_t>());
    }
    decoder_.set_tensor("input_ids", input);
    decoder_.set_tensor("beam_idx", beams);
    decoder_.set_tensor("sampled_rows", wanted);
    decoder_.infer();
    return decoder_.get_tensor("logits").data<float>();
}

float Transcriber::no_speech(const float* logits) const {
    const int64_t id = options_.tokens.no_speech;
    if (id < 0) return 0;
    return std::exp(logits[id] - log_sum_exp(logits, model_->vocab_size));
}

std::vector<Detection> Transcriber::detect(const std::vector<uint64_t>& ids, const std::vector<int32_t>& languages, TranscriberCall& call) {
    const auto running = begin_call();
    std::vector<Detection> result;
    try {
        for (const auto& one : windows_of(ids)) {
            const StopWatch watch;
            bind_windows({one});
            const float* logits = infer({options_.tokens.start_of_transcript}, 1, {}, {0});
            Detection detection;
            for (const int32_t id : languages)
                detection.probabilities.push_back(id >= 0 && static_cast<size_t>(id) < model_->vocab_size ? logits[id] : -INFINITY);
            if (log_softmax(detection.probabilities.data(), detection.probabilities.size()))
                for (float& value : detection.probabilities) value = std::exp(value);
            detection.no_speech_prob = no_speech(logits);
            result.push_back(std::move(detection));
            call.timings.prefill_ms += watch.ms();
        }
    } catch (...) {
        rethrow_inference_error();
    }
    return result;
}

std::vector<Alignment> Transcriber::align(const std::vector<AlignInput>& inputs, TranscriberCall& call) {
    const auto running = begin_call();
    std::vector<Alignment> result;
    try {
        for (const auto& input : inputs) {
            if (closed_) check_open();
            const StopWatch watch;
            const auto one = window(input.window);
            if (input.ids.size() > info_.max_positions || input.ids.size() < input.sot_length + 2)
                throw EngineError(ErrorCode::Option, "a text to align must have between " + std::to_string(input.sot_length + 2) + " and " +
                                                         std::to_string(info_.max_positions) + " tokens");
            const size_t text = input.ids.size() - input.sot_length - 2;
            std::vector<int64_t> rows;
            for (size_t i = 0; i <= text; ++i) rows.push_back(static_cast<int64_t>(input.sot_length + i));
            bind_windows({one});
            float* logits = infer(input.ids, 1, {}, rows);
            Alignment alignment;
            for (size_t i = 0; i < text; ++i) {
                float* row = logits + i * model_->vocab_size;
                const int64_t id = input.ids[input.sot_length + 1 + i];
                log_softmax(row, static_cast<size_t>(options_.tokens.end_of_text));
                alignment.probabilities.push_back(id < options_.tokens.end_of_text ? std::exp(row[id]) : 0.f);
            }
            alignment.starts = align_tokens(*one, input);
            result.push_back(std::move(alignment));
            call.timings.align_ms += watch.ms();
        }
    } catch (...) {
        rethrow_inference_error();
    }
    return result;
}

std::vector<int32_t> Transcriber::align_tokens(const Window& window, const AlignInput& input) {
    std::vector<HeadScores> heads;
    for (const auto& [layer, head] : options_.alignment_heads) {
        const ov::Tensor query = decoder_.get_tensor(cross_name("query", layer));
        const ov::Tensor& key = window.tensors[2 * layer];
        const size_t tokens = query.get_shape()[2], width = query.get_shape()[3], positions = key.get_shape()[2];
        HeadScores scores;
        scores.tokens = tokens;
        scores.frames = std::min(positions, std::max<size_t>(1, input.frames / 2));
        scores.values.resize(tokens * scores.frames);
        const float* q = query.data<float>() + head * tokens * width;
        const float* k = key.data<float>() + head * positions * width;
        for (size_t token = 0; token < tokens; ++token)
            for (size_t frame = 0; frame < scores.frames; ++frame) {
                float sum = 0;
                for (size_t i = 0; i < width; ++i) sum += q[token * width + i] * k[frame * width + i];
                scores.values[token * scores.frames + frame] = sum;
            }
        heads.push_back(std::move(scores));
    }
    return pergola::align_tokens(heads, input.sot_length, input.ids.size() - 1);
}

TranscriberStats Transcriber::stats() const {
    std::lock_guard<std::mutex> lock(stats_mutex_);
    return stats_;
}

void Transcriber::check_open() const {
    if (closed_) throw EngineError(ErrorCode::Disposed, "this transcriber is closed");
}

std::unique_lock<std::mutex> Transcriber::begin_call() {
    std::unique_lock<std::mutex> running(run_mutex_);
    check_open();
    return running;
}

void Transcriber::close() {
    closed_ = true;
    const std::lock_guard<std::mutex> running(run_mutex_);
    encoder_ = {};
    decoder_ = {};
    bound_.clear();
    batched_.clear();
    model_.reset();
    std::lock_guard<std::mutex> windows_lock(windows_mutex_);
    windows_.clear();
}

}  // namespace pergola
