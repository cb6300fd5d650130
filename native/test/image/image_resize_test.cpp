#include "image/image_resize.hpp"

#include <algorithm>
#include <array>
#include <thread>

#include "support/harness.hpp"
#include "support/references.hpp"

namespace pergola::test {
namespace {

constexpr std::array<const char*, 3> kFilters = {"bilinear", "bicubic", "lanczos"};

/// The pictures of fixtures/make_image_resize.py.
std::vector<uint8_t> picture(const std::string& kind, ImageSize size) {
    const bool noise = kind == "noise", ink = kind == "ink";
    std::vector<uint8_t> values(size.bytes());
    for (uint32_t i = 0; i < values.size(); ++i) {
        const uint32_t hashed = ((i * 2654435761u) ^ (i >> 7)) * 2246822519u;
        if (noise) values[i] = static_cast<uint8_t>(hashed >> 24);
        else if (ink) values[i] = static_cast<uint8_t>((hashed >> 31) * 255);
        else {
            const uint32_t pixel = i / 3, channel = i % 3, width = static_cast<uint32_t>(size.width);
            values[i] = static_cast<uint8_t>((pixel % width * (channel + 1) * 2 + pixel / width * (3 - channel)) % 256);
        }
    }
    return values;
}

uint32_t crc32(const std::vector<uint8_t>& bytes) {
    static const std::array<uint32_t, 256> table = [] {
        std::array<uint32_t, 256> made{};
        for (uint32_t i = 0; i < made.size(); ++i) {
            made[i] = i;
            for (int bit = 0; bit < 8; ++bit) made[i] = made[i] >> 1 ^ (made[i] & 1 ? 0xedb88320u : 0u);
        }
        return made;
    }();
    uint32_t sum = ~0u;
    for (const uint8_t byte : bytes) sum = sum >> 8 ^ table[(sum ^ byte) & 255];
    return ~sum;
}

std::vector<uint8_t> resized(const std::vector<uint8_t>& pixels, ImageSize size, ImageSize target, const char* filter) {
    return resize_image(pixels.data(), size, target, resize_filter(filter));
}

}  // namespace

TEST(image_resize, "equals Pillow bit by bit, for all filters and sizes") {
    const Json cases = reference("image_resize.json")["cases"];
    REQUIRE(cases.list.size() > 100);
    for (const Json& one : cases.list) {
        const auto sizes = one["sizes"].ids();
        const ImageSize size{static_cast<size_t>(sizes[0]), static_cast<size_t>(sizes[1])};
        const ImageSize target{static_cast<size_t>(sizes[2]), static_cast<size_t>(sizes[3])};
        const std::vector<uint8_t> pixels = picture(one["picture"].text, size);
        const auto sums = one["crc32"].ids();
        for (size_t i = 0; i < kFilters.size(); ++i) {
            const std::vector<uint8_t> result = resized(pixels, size, target, kFilters[i]);
            if (result.size() == target.bytes() && crc32(result) == static_cast<uint32_t>(sums[i])) continue;
            std::ostringstream text;
            show(text, sizes);
            fail(__FILE__, __LINE__, one["picture"].text + " " + text.str() + " " + kFilters[i] + " is not what Pillow makes");
        }
    }
}

TEST(image_resize, "equals Pillow byte by byte where one can look") {
    const Json expected = reference("image_resize.json")["ink 5 x 4 to 3 x 7"];
    const std::vector<uint8_t> pixels = picture("ink", {5, 4});
    for (const char* filter : kFilters) {
        const std::vector<uint8_t> result = resized(pixels, {5, 4}, {3, 7}, filter);
        CHECK_EQ(std::vector<int64_t>(result.begin(), result.end()), expected[filter].ids());
    }
}

TEST(image_resize, "is the same whether one thread or several share the rows") {
    // Large enough for threads; the bands' borders lie somewhere in the rows of a strip that is resized alone.
    const ImageSize size{900, kSlow ? 700u : 2100u};
    const std::vector<uint8_t> pixels = picture("noise", size);
    for (const char* filter : kFilters) {
        const std::vector<uint8_t> whole = resized(pixels, size, {301, size.height}, filter);
        // Across alone, every row is what it is by itself.
        for (size_t y = 0; y < size.height; y += 97) {
            const std::vector<uint8_t> row(pixels.begin() + static_cast<ptrdiff_t>(y * 2700), pixels.begin() + static_cast<ptrdiff_t>((y + 1) * 2700));
            const std::vector<uint8_t> alone = resized(row, {900, 1}, {301, 1}, filter);
            CHECK(std::equal(alone.begin(), alone.end(), whole.begin() + static_cast<ptrdiff_t>(y * 903)));
        }
        // Both passes at once are one after the other.
        CHECK(resized(whole, {301, size.height}, {301, 333}, filter) == resized(pixels, size, {301, 333}, filter));
    }
}

TEST(image_resize, "works on many threads at one time") {
    const ImageSize size{211, 97};
    const std::vector<uint8_t> pixels = picture("ink", size);
    const std::vector<uint8_t> expected = resized(pixels, size, {100, 300}, "lanczos");
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i)
        threads.emplace_back([&] {
            for (int round = 0; round < 5; ++round) CHECK(resized(pixels, size, {100, 300}, "lanczos") == expected);
        });
    for (auto& thread : threads) thread.join();
}

TEST(image_resize, "a flat colour stays what it is") {
    for (const ImageSize target : {ImageSize{1, 1}, ImageSize{37, 1}, ImageSize{5, 700}, ImageSize{64, 64}})
        for (const char* filter : kFilters)
            for (const int level : {0, 1, 127, 254, 255})
                CHECK(resized(std::vector<uint8_t>(61 * 43 * 3, static_cast<uint8_t>(level)), {61, 43}, target, filter) ==
                      std::vector<uint8_t>(target.bytes(), static_cast<uint8_t>(level)));
}

TEST(image_resize, "refuses sizes without pixels and unknown filters") {
    const std::vector<uint8_t> pixels(3);
    CHECK_ENGINE_ERROR(ErrorCode::Option, resize_image(pixels.data(), {1, 1}, {0, 1}, ResizeFilter::Bicubic));
    CHECK_ENGINE_ERROR(ErrorCode::Option, resize_image(pixels.data(), {1, 0}, {1, 1}, ResizeFilter::Bicubic));
    const auto error = CHECK_ENGINE_ERROR(ErrorCode::Option, resize_filter("nearest"));
    CHECK(std::string(error.what()).find("\"nearest\"") != std::string::npos);
}

}  // namespace pergola::test
