#include "speech/log_mel.hpp"

#include <algorithm>
#include <cmath>
#include <thread>

#include "support/harness.hpp"
#include "support/whisper_fixture.hpp"

namespace pergola::test {
namespace {

constexpr float kPadding = -7.25f;  // a value that no spectrogram holds

std::vector<float> read(const LogMel& mel, size_t start, size_t count, size_t length) {
    std::vector<float> out(mel.bins() * length, 1234.f);
    mel.read(start, count, length, kPadding, out.data());
    return out;
}

std::vector<float> read_all(const LogMel& mel) { return read(mel, 0, mel.frames(), mel.frames()); }

std::vector<float> whole(const std::vector<float>& samples, size_t bins) {
    LogMel mel(bins);
    mel.append(std::vector<float>(samples));
    mel.finish();
    return read_all(mel);
}

}  // namespace

TEST(log_mel, "spectrograms equal those of transformers") {
    const std::vector<float> values = read_floats(reference_file("mel.f32"));
    const Json cases = reference("mel.json");
    REQUIRE(cases.list.size() > 30);
    for (const Json& one : cases.list) {
        const std::string name = one["signal"].text;
        const auto samples = static_cast<size_t>(one["samples"].number), bins = static_cast<size_t>(one["bins"].number);
        const auto frames = static_cast<size_t>(one["frames"].number), offset = static_cast<size_t>(one["offset"].number);
        LogMel mel(bins);
        mel.append(made_signal(name, samples));
        mel.finish();
        if (!CHECK_EQ(mel.frames(), frames)) continue;
        const std::vector<float> actual = read_all(mel);
        float difference = 0;
        for (size_t i = 0; i < actual.size(); ++i) difference = std::max(difference, std::fabs(actual[i] - values[offset + i]));
        if (!(difference <= 1e-4f))
            fail(__FILE__, __LINE__, name + " of " + std::to_string(samples) + " samples, " + std::to_string(bins) + " bands: off by " + std::to_string(difference));
    }
}

TEST(log_mel, "pieces of any size give what one piece gives, bit for bit") {
    const std::vector<float> samples = made_signal("noise", 6437);
    for (const size_t bins : {80u, 128u}) {
        const std::vector<float> expected = whole(samples, bins);
        for (const size_t piece : {1u, 7u, 159u, 160u, 161u, 200u, 201u, 399u, 400u, 401u, 2560u, 6436u}) {
            LogMel mel(bins);
            for (size_t i = 0; i < samples.size(); i += piece)
                mel.append(std::vector<float>(samples.begin() + static_cast<ptrdiff_t>(i), samples.begin() + static_cast<ptrdiff_t>(std::min(i + piece, samples.size()))));
            mel.finish();
            CHECK(read_all(mel) == expected);
        }
        SeededNumbers numbers(9);
        for (int round = 0; round < 20; ++round) {
            LogMel mel(bins);
            for (size_t i = 0; i < samples.size();) {
                const size_t count = std::min<size_t>(numbers.next() % 1000, samples.size() - i);  // also pieces of no samples
                mel.append(std::vector<float>(samples.begin() + static_cast<ptrdiff_t>(i), samples.begin() + static_cast<ptrdiff_t>(i + count)));
                i += count;
            }
            mel.finish();
            CHECK(read_all(mel) == expected);
        }
    }
}

TEST(log_mel, "long audio, which several threads compute, equals the same in pieces that one thread computes") {
    const std::vector<float> samples = made_signal("sweep", 160 * 1111 + 77);
    const std::vector<float> expected = whole(samples, 80);
    LogMel mel(80);
    for (size_t i = 0; i < samples.size(); i += 12345)
        mel.append(std::vector<float>(samples.begin() + static_cast<ptrdiff_t>(i), samples.begin() + static_cast<ptrdiff_t>(std::min(i + 12345, samples.size()))));
    mel.finish();
    CHECK_EQ(mel.frames(), 1111u);
    CHECK(read_all(mel) == expected);
}

TEST(log_mel, "frames come as soon as their samples are there, and the last ones with the end") {
    LogMel mel(80);
    CHECK_EQ(mel.frames(), 0u);
    mel.append(std::vector<float>(200, 0.1f));
    CHECK_EQ(mel.frames(), 0u);  // the reflection at the beginning needs sample 200
    mel.append({0.1f});
    CHECK_EQ(mel.frames(), 1u);
    mel.append(std::vector<float>(158, 0.1f));
    CHECK_EQ(mel.frames(), 1u);
    mel.append({0.1f});
    CHECK_EQ(mel.frames(), 2u);  // samples 160 - 200 ... 160 + 199
    mel.append(std::vector<float>(121, 0.1f));
    CHECK_EQ(mel.frames(), 2u);
    mel.finish();
    CHECK_EQ(mel.frames(), 3u);  // 481 samples
    mel.finish();
    CHECK_EQ(mel.frames(), 3u);
}

TEST(log_mel, "audio of less than a frame's step has no frames, and reads as padding") {
    for (const size_t samples : {0u, 1u, 2u, 159u}) {
        LogMel mel(80);
        mel.append(std::vector<float>(samples, 0.5f));
        mel.finish();
        CHECK_EQ(mel.frames(), 0u);
        CHECK(read(mel, 0, 10, 3) == std::vector<float>(80 * 3, kPadding));
    }
}

TEST(log_mel, "digital silence reads as -1.5") {
    CHECK(whole(std::vector<float>(1600, 0.f), 80) == std::vector<float>(80 * 10, -1.5f));
}

TEST(log_mel, "reading outside of what there is gives padding") {
    const std::vector<float> samples = made_signal("noise", 1600);
    const std::vector<float> all = whole(samples, 80);
    LogMel mel(80);
    mel.append(std::vector<float>(samples));
    mel.finish();
    const auto check = [&](size_t start, size_t count, size_t length) {
        const std::vector<float> part = read(mel, start, count, length);
        for (size_t bin = 0; bin < 80; ++bin)
            for (size_t i = 0; i < length; ++i) {
                const bool there = i < count && start + i < 10;
                if (part[bin * length + i] != (there ? all[bin * 10 + start + i] : kPadding)) return false;
            }
        return true;
    };
    CHECK(check(0, 10, 10));
    CHECK(check(0, 4, 10));
    CHECK(check(3, 4, 4));
    CHECK(check(3, 4, 2));
    CHECK(check(8, 100, 6));
    CHECK(check(10, 5, 5));
    CHECK(check(1000000, 5, 5));
    CHECK(check(0, 0, 3));
    CHECK(check(5, 5, 0));
}

TEST(log_mel, "discarded frames are gone, the others and the loudest one's measure stay") {
    std::vector<float> samples = made_signal("quiet", 4800);  // its loudest frames are the 15th and its neighbours
    const std::vector<float> all = whole(samples, 80);
    LogMel mel(80);
    mel.append(std::vector<float>(samples.begin(), samples.begin() + 3200));
    mel.discard(17);
    CHECK_EQ(mel.first_frame(), 17u);
    mel.discard(3);  // gone already
    CHECK_EQ(mel.first_frame(), 17u);
    mel.append(std::vector<float>(samples.begin() + 3200, samples.end()));
    mel.finish();
    CHECK_EQ(mel.frames(), 30u);
    const std::vector<float> part = read(mel, 15, 15, 15);
    for (size_t bin = 0; bin < 80; ++bin)
        for (size_t i = 0; i < 15; ++i)
            if (!CHECK_EQ(part[bin * 15 + i], i < 2 ? kPadding : all[bin * 30 + 15 + i])) return;
    mel.discard(1000);
    CHECK_EQ(mel.first_frame(), 30u);
    CHECK_EQ(mel.frames(), 30u);
    CHECK(read(mel, 0, 30, 30) == std::vector<float>(80 * 30, kPadding));
}

TEST(log_mel, "nothing can be appended after the end") {
    LogMel mel(80);
    mel.append(made_signal("noise", 1600));
    mel.finish();
    const std::vector<float> before = read_all(mel);
    CHECK_ENGINE_ERROR(ErrorCode::Option, mel.append({0.5f}));
    CHECK(read_all(mel) == before);
}

TEST(log_mel, "threads may append, read and discard at once") {
    LogMel mel(80);
    std::atomic<bool> done{false};
    std::vector<std::thread> readers;
    for (int i = 0; i < 2; ++i)
        readers.emplace_back([&] {
            while (!done) {
                const size_t frames = mel.frames();
                CHECK(mel.first_frame() <= mel.frames());
                for (const float value : read(mel, frames > 5 ? frames - 5 : 0, 5, 8)) CHECK(std::isfinite(value));
            }
        });
    std::thread discarding([&] {
        while (!done) {
            const size_t frames = mel.frames();
            mel.discard(frames > 50 ? frames - 50 : 0);
        }
    });
    const std::vector<float> samples = made_signal("noise", 16000);
    for (int i = 0; i < 10; ++i) mel.append(std::vector<float>(samples));
    mel.finish();
    done = true;
    for (auto& reader : readers) reader.join();
    discarding.join();
    CHECK_EQ(mel.frames(), 1000u);
    std::vector<float> repeated;
    for (int i = 0; i < 10; ++i) repeated.insert(repeated.end(), samples.begin(), samples.end());
    const std::vector<float> expected = whole(repeated, 80), last = read(mel, 960, 40, 40);
    for (size_t bin = 0; bin < 80; ++bin)
        for (size_t i = 0; i < 40; ++i)
            if (!CHECK_EQ(last[bin * 40 + i], expected[bin * 1000 + 960 + i])) return;
}

TEST(log_mel, "spectrograms share no state") {
    const std::vector<float> noise = made_signal("noise", 1600), sines = made_signal("sines", 8000);
    const std::vector<float> expected_noise = whole(noise, 80), expected_sines = whole(sines, 128);
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i)
        threads.emplace_back([&, i] {
            for (int round = 0; round < 5; ++round) CHECK(i % 2 == 0 ? whole(noise, 80) == expected_noise : whole(sines, 128) == expected_sines);
        });
    for (auto& thread : threads) thread.join();
}

}  // namespace pergola::test
