#include "speech/log_mel.hpp"

#include <algorithm>
#include <thread>

#include "base/error.hpp"

namespace pergola {
namespace {

constexpr size_t kSide = MelTransform::kFrame / 2;
constexpr size_t kHop = MelTransform::kHop;
/// Below this many frames a second thread costs more than it saves.
constexpr size_t kFramesPerThread = 256;

/// Index into `size` samples mirrored at both ends without repeating the edge.
size_t mirrored(ptrdiff_t index, size_t size) {
    if (size < 2) return 0;
    const ptrdiff_t period = 2 * (static_cast<ptrdiff_t>(size) - 1);
    index = (index % period + period) % period;
    return static_cast<size_t>(index < static_cast<ptrdiff_t>(size) ? index : period - index);
}

}  // namespace

LogMel::LogMel(size_t bins) : transform_(bins) {}

size_t LogMel::frames() const {
    std::lock_guard<std::mutex> lock(mutex_);
    return frames_;
}

size_t LogMel::first_frame() const {
    std::lock_guard<std::mutex> lock(mutex_);
    return first_;
}

void LogMel::append(std::vector<float>&& samples) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (finished_) throw EngineError(ErrorCode::Option, "the audio of this spectrogram has ended: nothing can be appended");
    samples_ += samples.size();
    if (pending_.empty()) pending_ = std::move(samples);
    else pending_.insert(pending_.end(), samples.begin(), samples.end());
    if (!begun_) {
        if (pending_.size() <= kSide) return;  // the reflection at the beginning is not known yet
        std::vector<float> reflected(kSide);
        for (size_t i = 0; i < kSide; ++i) reflected[i] = pending_[kSide - i];
        pending_.insert(pending_.begin(), reflected.begin(), reflected.end());
        begun_ = true;
    }
    if (pending_.size() >= MelTransform::kFrame) compute((pending_.size() - MelTransform::kFrame) / kHop + 1);
}

void LogMel::finish() {
    std::lock_guard<std::mutex> lock(mutex_);
    if (finished_) return;
    finished_ = true;
    const size_t wanted = samples_ / kHop;
    if (wanted > frames_) {
        const size_t before = pending_.size();
        if (!begun_) {
            // So short that one reflection does not fill a frame.
            std::vector<float> whole(kSide);
            for (size_t i = 0; i < kSide; ++i) whole[i] = pending_[mirrored(static_cast<ptrdiff_t>(i) - static_cast<ptrdiff_t>(kSide), before)];
            whole.insert(whole.end(), pending_.begin(), pending_.end());
            for (size_t i = 0; i < kSide; ++i) whole.push_back(pending_[mirrored(static_cast<ptrdiff_t>(before + i), before)]);
            pending_ = std::move(whole);
        } else {
            for (size_t i = 0; i < kSide; ++i) {
                const ptrdiff_t index = static_cast<ptrdiff_t>(before) - 2 - static_cast<ptrdiff_t>(i);
                pending_.push_back(pending_[mirrored(index, before)]);
            }
        }
        compute(wanted - frames_);
    } else if (wanted < frames_) {
        // The last frame of the transform is dropped, as the reference does.
        values_.resize((wanted > first_ ? wanted - first_ : 0) * bins());
        frames_ = wanted;
    }
    pending_ = {};
}

void LogMel::discard(size_t frame) {
    std::lock_guard<std::mutex> lock(mutex_);
    const size_t gone = std::min(frame, frames_);
    if (gone <= first_) return;
    values_.erase(values_.begin(), values_.begin() + static_cast<ptrdiff_t>((gone - first_) * bins()));
    first_ = gone;
}

void LogMel::compute(size_t count) {
    const size_t at = values_.size();
    values_.resize(at + count * bins());
    const size_t threads = std::max<size_t>(1, std::min<size_t>(std::thread::hardware_concurrency(), count / kFramesPerThread));
    const size_t share = (count / threads + MelTransform::kLanes) / MelTransform::kLanes * MelTransform::kLanes;
    std::vector<float> peaks(threads, -10.f);
    const auto work = [&](size_t thread) {
        std::vector<float> scratch;
        for (size_t i = thread * share; i < std::min(count, (thread + 1) * share); i += MelTransform::kLanes) {
            const size_t lanes = std::min({MelTransform::kLanes, count - i, (thread + 1) * share - i});
            peaks[thread] = std::max(peaks[thread], transform_.run(pending_.data() + i * kHop, lanes, values_.data() + at + i * bins(), scratch));
        }
    };
    std::vector<std::thread> helpers;
    for (size_t thread = 1; thread < threads; ++thread) helpers.emplace_back(work, thread);
    work(0);
    for (auto& helper : helpers) helper.join();
    for (const float peak : peaks) peak_ = std::max(peak_, peak);
    frames_ += count;
    pending_.erase(pending_.begin(), pending_.begin() + static_cast<ptrdiff_t>(std::min(pending_.size(), count * kHop)));
}

void LogMel::read(size_t start, size_t count, size_t length, float padding, float* out) const {
    std::lock_guard<std::mutex> lock(mutex_);
    const float floor = peak_ - 8.f;
    const size_t rows = bins();
    for (size_t i = 0; i < length; ++i) {
        const size_t frame = start + i;
        const bool there = i < count && frame >= first_ && frame < frames_;
        const float* values = there ? values_.data() + (frame - first_) * rows : nullptr;
        for (size_t bin = 0; bin < rows; ++bin) out[bin * length + i] = there ? (std::max(values[bin], floor) + 4.f) / 4.f : padding;
    }
}

}  // namespace pergola
