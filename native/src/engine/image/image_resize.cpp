#include "image/image_resize.hpp"

#include <algorithm>
#include <cmath>
#include <system_error>
#include <thread>

#include "base/error.hpp"
#include "base/target_clones.hpp"

namespace pergola {
namespace {

constexpr int kPrecision = 32 - 8 - 2;
constexpr int32_t kHalf = 1 << (kPrecision - 1);
/// A weight is split as `high * 2^12 + low`: products of 16-bit numbers are what processors add up fastest. `low` has a sign, so that
/// its sum is never greater than that of the weights, which fits.
constexpr int kLowBits = 12;
/// Weights of the horizontal pass come in groups of this size, filled up with zeros.
constexpr size_t kGroup = 16;
/// Bytes of a row that the vertical pass sums up at one time.
constexpr size_t kColumns = 256;
/// Multiplications below which a second thread costs more than it saves.
constexpr size_t kWorkPerThread = 4'000'000;

double sinc(double x) {
    if (x == 0.0) return 1.0;
    x *= M_PI;
    return std::sin(x) / x;
}

double weight_at(ResizeFilter filter, double x) {
    switch (filter) {
        case ResizeFilter::Bilinear:
            x = std::fabs(x);
            return x < 1.0 ? 1.0 - x : 0.0;
        case ResizeFilter::Bicubic: {
            constexpr double a = -0.5;
            x = std::fabs(x);
            if (x < 1.0) return ((a + 2.0) * x - (a + 3.0)) * x * x + 1;
            return x < 2.0 ? (((x - 5) * x + 8) * x - 4) * a : 0.0;
        }
        case ResizeFilter::Lanczos:
            return -3.0 <= x && x < 3.0 ? sinc(x) * sinc(x / 3) : 0.0;
    }
    return 0.0;
}

double support_of(ResizeFilter filter) { return filter == ResizeFilter::Bilinear ? 1.0 : filter == ResizeFilter::Bicubic ? 2.0 : 3.0; }

/// For each output position the stretch of inputs that it is made of, and their weights.
struct Kernel {
    size_t outputs = 0;
    /// Distance between the weights of two outputs; what an output does not need is 0.
    size_t stride = 0;
    /// Longest stretch of inputs.
    size_t longest = 0;
    std::vector<size_t> begin, end;
    std::vector<int32_t> weights;
};

/// Not compiled for other processors than the base: with fused multiply-add the sums would not be Pillow's.
Kernel make_kernel(size_t in, size_t out, ResizeFilter filter) {
    const double scale = static_cast<double>(in) / static_cast<double>(out);
    const double filter_scale = std::max(scale, 1.0);
    const double support = support_of(filter) * filter_scale;
    const double inverse = 1.0 / filter_scale;
    Kernel kernel;
    kernel.outputs = out;
    kernel.begin.resize(out);
    kernel.end.resize(out);
    for (size_t i = 0; i < out; ++i) {
        const double center = (static_cast<double>(i) + 0.5) * scale;
        const double low = center - support + 0.5, high = center + support + 0.5;
        kernel.begin[i] = low > 0 ? static_cast<size_t>(low) : 0;
        kernel.end[i] = std::min(static_cast<size_t>(high), in);
        kernel.longest = std::max(kernel.longest, kernel.end[i] - kernel.begin[i]);
    }
    kernel.stride = (kernel.longest + kGroup - 1) / kGroup * kGroup;
    kernel.weights.resize(out * kernel.stride);
    std::vector<double> exact(kernel.longest);
    for (size_t i = 0; i < out; ++i) {
        const double center = (static_cast<double>(i) + 0.5) * scale;
        const size_t begin = kernel.begin[i], count = kernel.end[i] - begin;
        double sum = 0;
        for (size_t j = 0; j < count; ++j) {
            exact[j] = weight_at(filter, (static_cast<double>(j + begin) - center + 0.5) * inverse);
            sum += exact[j];
        }
        for (size_t j = 0; j < count; ++j) {
            const double weight = (sum != 0.0 ? exact[j] / sum : exact[j]) * (1 << kPrecision);
            kernel.weights[i * kernel.stride + j] = static_cast<int32_t>(weight < 0 ? weight - 0.5 : weight + 0.5);
        }
    }
    return kernel;
}

uint8_t to_level(int32_t sum) { return static_cast<uint8_t>(std::clamp(sum >> kPrecision, 0, 255)); }

/// Weights of the horizontal pass in two halves.
struct SplitKernel {
    Kernel kernel;
    std::vector<int16_t> high, low;

    SplitKernel(size_t in, size_t out, ResizeFilter filter) : kernel(make_kernel(in, out, filter)) {
        high.reserve(kernel.weights.size());
        low.reserve(kernel.weights.size());
        for (const int32_t weight : kernel.weights) {
            constexpr int32_t half = 1 << (kLowBits - 1);
            low.push_back(static_cast<int16_t>(((weight + half) & (2 * half - 1)) - half));
            high.push_back(static_cast<int16_t>((weight - low.back()) >> kLowBits));
        }
        kernel.weights = {};
    }
};

/// One row of an image, channel by channel, with room for the zeros at the end of the weights.
struct Planes {
    size_t stride;
    std::vector<int16_t> values;

    Planes(size_t width, const Kernel& kernel) : stride(width + kernel.stride), values(stride * 3) {}
};

PERGOLA_TARGET_CLONES void split_channels(const uint8_t* row, size_t width, int16_t* red, int16_t* green, int16_t* blue) {
    for (size_t i = 0; i < width; ++i) {
        red[i] = row[i * 3];
        green[i] = row[i * 3 + 1];
        blue[i] = row[i * 3 + 2];
    }
}

PERGOLA_TARGET_CLONES void convolve_channel(const int16_t* values, const size_t* begin, const int16_t* high, const int16_t* low, size_t stride, size_t outputs,
                                            uint8_t* out) {
    for (size_t i = 0; i < outputs; ++i) {
        const int16_t* from = values + begin[i];
        int32_t high_sum = 0, low_sum = 0;
        for (size_t j = 0; j < stride; ++j) {
            high_sum += static_cast<int32_t>(high[i * stride + j]) * from[j];
            low_sum += static_cast<int32_t>(low[i * stride + j]) * from[j];
        }
        out[i * 3] = to_level(high_sum * (1 << kLowBits) + low_sum + kHalf);
    }
}

void horizontal_pass(const uint8_t* row, size_t width, const SplitKernel& split, Planes& planes, uint8_t* out) {
    int16_t* const first = planes.values.data();
    split_channels(row, width, first, first + planes.stride, first + 2 * planes.stride);
    const Kernel& kernel = split.kernel;
    for (size_t channel = 0; channel < 3; ++channel)
        convolve_channel(first + channel * planes.stride, kernel.begin.data(), split.high.data(), split.low.data(), kernel.stride, kernel.outputs, out + channel);
}

/// `rows[j]` weighted with `weights[j]`, for `length` bytes.
PERGOLA_TARGET_CLONES void blend_rows(const uint8_t* const* rows, const int32_t* weights, size_t count, size_t length, uint8_t* out) {
    for (size_t at = 0; at < length; at += kColumns) {
        const size_t columns = std::min(kColumns, length - at);
        int32_t sums[kColumns];
        for (size_t i = 0; i < columns; ++i) sums[i] = kHalf;
        for (size_t j = 0; j < count; ++j) {
            const uint8_t* row = rows[j] + at;
            const int32_t weight = weights[j];
            for (size_t i = 0; i < columns; ++i) sums[i] += weight * row[i];
        }
        for (size_t i = 0; i < columns; ++i) out[at + i] = to_level(sums[i]);
    }
}

/// Makes a band of output rows; everything that it needs is allocated beforehand, as it runs on a thread of its own.
class Band {
public:
    Band(const uint8_t* pixels, ImageSize size, ImageSize target, const SplitKernel* horizontal, const Kernel* vertical, uint8_t* out)
        : pixels_(pixels), size_(size), target_(target), horizontal_(horizontal), vertical_(vertical), out_(out) {
        if (horizontal) planes_.emplace_back(size.width, horizontal->kernel);
        if (vertical) rows_.resize(vertical->longest);
        if (vertical && horizontal) ring_.resize(vertical->longest * target.width * 3);
    }

    void run(size_t first, size_t last) noexcept {
        size_t next = 0;
        for (size_t y = first; y < last; ++y) {
            uint8_t* const out = out_ + y * target_.width * 3;
            if (!vertical_) {
                horizontal_pass(source(y), size_.width, *horizontal_, planes_[0], out);
                continue;
            }
            const size_t begin = vertical_->begin[y], end = vertical_->end[y];
            if (horizontal_)
                for (next = std::max(next, begin); next < end; ++next) horizontal_pass(source(next), size_.width, *horizontal_, planes_[0], kept(next));
            for (size_t row = begin; row < end; ++row) rows_[row - begin] = horizontal_ ? kept(row) : source(row);
            blend_rows(rows_.data(), vertical_->weights.data() + y * vertical_->stride, end - begin, target_.width * 3, out);
        }
    }

private:
    const uint8_t* source(size_t row) const { return pixels_ + row * size_.width * 3; }
    /// Where a row between the passes is kept until rows beyond the kernel's reach take its place.
    uint8_t* kept(size_t row) { return ring_.data() + row % vertical_->longest * target_.width * 3; }

    const uint8_t* pixels_;
    ImageSize size_, target_;
    const SplitKernel* horizontal_;
    const Kernel* vertical_;
    uint8_t* out_;
    std::vector<Planes> planes_;
    std::vector<const uint8_t*> rows_;
    std::vector<uint8_t> ring_;
};

size_t threads_for(ImageSize size, ImageSize target, size_t horizontal_taps, size_t vertical_taps) {
    const size_t work = size.height * target.width * horizontal_taps * 3 + size.bytes() + target.bytes() * vertical_taps;
    return std::max<size_t>(1, std::min({static_cast<size_t>(std::thread::hardware_concurrency()), work / kWorkPerThread, target.height}));
}

}  // namespace

ResizeFilter resize_filter(const std::string& name) {
    if (name == "bilinear") return ResizeFilter::Bilinear;
    if (name == "bicubic") return ResizeFilter::Bicubic;
    if (name == "lanczos") return ResizeFilter::Lanczos;
    throw EngineError(ErrorCode::Option, "filter must be bilinear, bicubic or lanczos, received \"" + name + "\"");
}

std::vector<uint8_t> resize_image(const uint8_t* pixels, ImageSize size, ImageSize target, ResizeFilter filter) {
    if (size.width == 0 || size.height == 0 || target.width == 0 || target.height == 0)
        throw EngineError(ErrorCode::Option, "an image to resize has at least 1 x 1 pixels, before and after");
    // A pass that changes nothing is left out, as rounding is then, too.
    const bool across = size.width != target.width, down = size.height != target.height;
    if (!across && !down) return std::vector<uint8_t>(pixels, pixels + size.bytes());
    if (across && target.height < size.height && size.height > 100 * size.width) {
        // Pillow's one exception: very tall images that become less tall are resized downwards first.
        const ImageSize between{size.width, target.height};
        return resize_image(resize_image(pixels, size, between, filter).data(), between, target, filter);
    }
    std::vector<SplitKernel> horizontal;
    std::vector<Kernel> vertical;
    if (across) horizontal.emplace_back(size.width, target.width, filter);
    if (down) vertical.push_back(make_kernel(size.height, target.height, filter));
    std::vector<uint8_t> result(target.bytes());

    const size_t count = threads_for(size, target, across ? horizontal[0].kernel.longest : 0, down ? vertical[0].longest : 0);
    std::vector<Band> bands;
    for (size_t i = 0; i < count; ++i)
        bands.emplace_back(pixels, size, target, across ? &horizontal[0] : nullptr, down ? &vertical[0] : nullptr, result.data());
    const auto work = [&](size_t i) { bands[i].run(target.height * i / count, target.height * (i + 1) / count); };
    std::vector<std::thread> helpers;
    helpers.reserve(count);
    for (size_t i = 1; i < count; ++i) {
        try {
            helpers.emplace_back(work, i);
        } catch (const std::system_error&) {
            work(i);  // the system has no more threads to give
        }
    }
    work(0);
    for (auto& helper : helpers) helper.join();
    return result;
}

}  // namespace pergola
