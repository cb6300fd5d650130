#include <cmath>
#include <thread>

#include "support/transcriber_fixture.hpp"

namespace pergola::test {
namespace {

AlignInput align_input(uint64_t window, std::vector<int64_t> text, size_t frames = 300) {
    AlignInput input;
    input.window = window;
    input.frames = frames;
    input.ids = prompt_of(false);
    input.ids.insert(input.ids.end(), text.begin(), text.end());
    input.ids.push_back(256);
    input.sot_length = 3;
    return input;
}

}  // namespace

TEST(transcriber, "tells what it is, and counts what it did") {
    const auto transcriber = open_transcriber();
    const TranscriberInfo info = transcriber->info();
    CHECK_EQ(info.device, std::string("CPU"));
    CHECK_EQ(info.vocab_size, 1768u);
    CHECK_EQ(info.window_frames, 3000u);
    CHECK_EQ(info.max_positions, 448u);
    CHECK(info.shared);
    CHECK_EQ(transcriber->stats().encoded_windows, 0u);
    const auto windows = encode_signals(*transcriber);
    transcriber->decode({decode_input(windows[0]), decode_input(windows[1])}, decode_options(true, 5), never());
    const TranscriberStats stats = transcriber->stats();
    CHECK_EQ(stats.encoded_windows, windows.size());
    CHECK_EQ(stats.decoded_tokens, 10u);
    CHECK_EQ(stats.decode_steps, 4u);  // the first tokens come from the prompt's inference
}

TEST(transcriber, "a warm-up leaves no trace") {
    TranscriberOptions options = transcriber_options();
    options.warm_up = true;
    Transcriber transcriber(options, LoadControl());
    CHECK_EQ(transcriber.stats().encoded_windows, 0u);
    CHECK_EQ(transcriber.stats().decoded_tokens, 0u);
    const auto other = open_transcriber();
    const uint64_t window = encode_signal(transcriber, "noise", 48000), same = encode_signal(*other, "noise", 48000);
    CHECK_EQ(transcriber.decode({decode_input(window)}, decode_options(true, 20), never()).at(0).ids,
             other->decode({decode_input(same)}, decode_options(true, 20), never()).at(0).ids);
}

TEST(transcriber, "a window is a part of the audio, and what lies outside of it is not heard") {
    const auto transcriber = open_transcriber();
    const std::vector<float> loud = made_signal("sweep", 80000);
    const auto whole = std::make_shared<LogMel>(80);
    whole->append(std::vector<float>(loud));
    whole->finish();
    const auto windows = transcriber->encode({{whole, 100, 200}, {whole, 100, 200}, {whole, 0, 200}, {whole, 100, 10000}, {whole, 100, 400}, {whole, 9999, 5}, {whole, 0, 0}}, never());
    REQUIRE_EQ(windows.size(), 7u);
    const auto said = [&](size_t i) { return transcriber->detect({windows[i]}, {258, 259, 260}, never()).at(0).probabilities; };
    CHECK_EQ(said(0), said(1));
    CHECK(said(0) != said(2));
    CHECK(said(0) != said(3));
    CHECK_EQ(said(3), said(4));  // only 500 frames there are
    CHECK_EQ(said(5), said(6));  // nothing at all
}

TEST(transcriber, "released windows are gone, others stay; releasing twice or what never was is no fault") {
    const auto transcriber = open_transcriber();
    const auto windows = encode_signals(*transcriber);
    const auto before = transcriber->decode({decode_input(windows[1])}, decode_options(true, 10), never()).at(0);
    transcriber->release({windows[0], 999999, 0, windows[0]});
    transcriber->release({windows[0]});
    transcriber->release({});
    CHECK_ENGINE_ERROR(ErrorCode::Option, transcriber->decode({decode_input(windows[0])}, decode_options(true, 10), never()));
    CHECK_ENGINE_ERROR(ErrorCode::Option, transcriber->decode({decode_input(windows[1]), decode_input(windows[0])}, decode_options(true, 10), never()));
    CHECK_ENGINE_ERROR(ErrorCode::Option, transcriber->detect({windows[1], windows[0]}, {258}, never()));
    CHECK_ENGINE_ERROR(ErrorCode::Option, transcriber->align({align_input(windows[0], {40})}, never()));
    CHECK_ENGINE_ERROR(ErrorCode::Option, transcriber->decode({decode_input(123456)}, decode_options(true, 10), never()));
    CHECK_EQ(transcriber->decode({decode_input(windows[1])}, decode_options(true, 10), never()).at(0).ids, before.ids);
    // Handles are never given twice.
    const uint64_t next = encode_signal(*transcriber, "impulse", 8000);
    CHECK(std::find(windows.begin(), windows.end(), next) == windows.end());
}

TEST(transcriber, "prompts that do not go together are option errors, and the transcriber goes on") {
    const auto transcriber = open_transcriber();
    const auto windows = encode_signals(*transcriber);
    const auto options = decode_options(true, 10);
    const auto before = transcriber->decode({decode_input(windows[1])}, options, never()).at(0);
    DecodeInput longer = decode_input(windows[0], false), empty = decode_input(windows[0]), beyond = empty, full = empty, other = empty;
    empty.prompt.clear();
    beyond.sot_index = 3;
    full.prompt.assign(448, 100);
    other.sot_index = 1;
    CHECK_ENGINE_ERROR(ErrorCode::Option, transcriber->decode({decode_input(windows[1]), longer}, options, never()));
    CHECK_ENGINE_ERROR(ErrorCode::Option, transcriber->decode({empty}, options, never()));
    CHECK_ENGINE_ERROR(ErrorCode::Option, transcriber->decode({beyond}, options, never()));
    CHECK_ENGINE_ERROR(ErrorCode::Option, transcriber->decode({full}, options, never()));
    CHECK_ENGINE_ERROR(ErrorCode::Option, transcriber->decode({decode_input(windows[1]), other}, options, never()));
    CHECK(transcriber->decode({}, options, never()).empty());
    CHECK_EQ(transcriber->decode({decode_input(windows[1])}, options, never()).at(0).ids, before.ids);
}

TEST(transcriber, "ids outside of the vocabulary are option errors") {
    const auto transcriber = open_transcriber();
    const uint64_t window = encode_signal(*transcriber, "noise", 48000);
    for (const int64_t id : {int64_t{1768}, int64_t{-1}, int64_t{1} << 40}) {
        DecodeInput input = decode_input(window);
        input.prompt[1] = id;
        CHECK_ENGINE_ERROR(ErrorCode::Option, transcriber->decode({input}, decode_options(true, 3), never()));
        CHECK_ENGINE_ERROR(ErrorCode::Option, transcriber->align({align_input(window, {40, id, 41})}, never()));
    }
}

TEST(transcriber, "spectrograms of other bands are option errors") {
    const auto transcriber = open_transcriber();
    const auto mel = std::make_shared<LogMel>(128);
    mel->append(made_signal("noise", 16000));
    CHECK_ENGINE_ERROR(ErrorCode::Option, transcriber->encode({{mel, 0, 100}}, never()));
    CHECK_EQ(transcriber->encode({{made_mel("noise", 16000), 0, 100}}, never()).size(), 1u);
}

TEST(transcriber, "token times begin with the first frame, never go back and stay in the audio; texts of other lengths are option errors") {
    const auto transcriber = open_transcriber();
    const uint64_t window = encode_signal(*transcriber, "noise", 48000);
    SeededNumbers numbers(11);
    for (int round = 0; round < 20; ++round) {
        std::vector<int64_t> text;
        for (size_t i = 0; i < 1 + numbers.next() % 40; ++i) text.push_back(numbers.next() % 256);
        const size_t frames = 1 + numbers.next() % 400;
        const auto result = transcriber->align({align_input(window, text, frames)}, never()).at(0);
        REQUIRE_EQ(result.starts.size(), text.size() + 1);
        REQUIRE_EQ(result.probabilities.size(), text.size());
        CHECK_EQ(result.starts.front(), 0);
        CHECK(std::is_sorted(result.starts.begin(), result.starts.end()));
        CHECK(result.starts.back() < static_cast<int32_t>(std::max<size_t>(1, frames / 2)));
        for (const float value : result.probabilities) CHECK(value >= 0 && value <= 1);
    }
    CHECK_EQ(transcriber->align({align_input(window, {})}, never()).at(0).starts.size(), 1u);
    CHECK_EQ(transcriber->align({align_input(window, std::vector<int64_t>(443, 40), 100000)}, never()).at(0).starts.size(), 444u);
    CHECK_ENGINE_ERROR(ErrorCode::Option, transcriber->align({align_input(window, std::vector<int64_t>(444, 40))}, never()));
    AlignInput bare = align_input(window, {});
    bare.ids = {257, 258, 262, 266};
    CHECK_ENGINE_ERROR(ErrorCode::Option, transcriber->align({bare}, never()));
    CHECK(transcriber->align({}, never()).empty());
}

TEST(transcriber, "a model without alignment heads gives probabilities and no times") {
    TranscriberOptions options = transcriber_options();
    options.alignment_heads.clear();
    Transcriber transcriber(options, LoadControl());
    const uint64_t window = encode_signal(transcriber, "noise", 48000);
    const auto result = transcriber.align({align_input(window, {40, 41})}, never()).at(0);
    CHECK(result.starts.empty());
    CHECK_EQ(result.probabilities.size(), 2u);
}

TEST(transcriber, "threads may do everything at once, and each gets what it would get alone") {
    const auto transcriber = open_transcriber();
    const uint64_t reference_window = encode_signal(*transcriber, "sines", 32000);
    const auto expected = transcriber->decode({decode_input(reference_window)}, decode_options(true, 15), never()).at(0).ids;
    const auto languages = transcriber->detect({reference_window}, {258, 259, 260}, never()).at(0).probabilities;
    const auto starts = transcriber->align({align_input(reference_window, {40, 41, 42}, 200)}, never()).at(0).starts;
    std::vector<std::thread> threads;
    for (int i = 0; i < 6; ++i)
        threads.emplace_back([&, i] {
            for (int round = 0; round < (kSlow ? 2 : 5); ++round) {
                const uint64_t window = encode_signal(*transcriber, "sines", 32000);
                const uint64_t other = encode_signal(*transcriber, "noise", 8000 + 1000 * static_cast<size_t>(i));
                const auto result = transcriber->decode({decode_input(other), decode_input(window)}, decode_options(true, 15), never());
                CHECK_EQ(result.at(1).ids, expected);
                CHECK_EQ(transcriber->detect({window}, {258, 259, 260}, never()).at(0).probabilities, languages);
                CHECK_EQ(transcriber->align({align_input(window, {40, 41, 42}, 200)}, never()).at(0).starts, starts);
                transcriber->release({window, other});
                transcriber->stats();
            }
        });
    for (auto& thread : threads) thread.join();
}

TEST(transcriber, "closing ends running calls soon; later ones and those that wait are told") {
    for (const bool interrupt_first : {false, true}) {
        const auto transcriber = open_transcriber();
        const uint64_t window = encode_signal(*transcriber, "noise", 48000);
        std::atomic<int> told{0}, ended{0};
        std::vector<std::thread> threads;
        for (int i = 0; i < 4; ++i)
            threads.emplace_back([&] {
                try {
                    for (;;) {
                        const auto result = transcriber->decode({decode_input(window)}, decode_options(true, 440), never());
                        CHECK_EQ(result.size(), 1u);
                        ++ended;
                    }
                } catch (const EngineError& error) {
                    CHECK_EQ(error.code, ErrorCode::Disposed);
                    ++told;
                }
            });
        while (transcriber->stats().decode_steps < 3) std::this_thread::yield();
        if (interrupt_first) transcriber->interrupt();
        transcriber->close();
        for (auto& thread : threads) thread.join();
        CHECK_EQ(told.load(), 4);
        transcriber->close();  // again is no fault
        CHECK_ENGINE_ERROR(ErrorCode::Disposed, transcriber->encode({{made_mel("noise", 1600), 0, 10}}, never()));
        CHECK_ENGINE_ERROR(ErrorCode::Disposed, transcriber->detect({window}, {258}, never()));
        CHECK_ENGINE_ERROR(ErrorCode::Disposed, transcriber->align({align_input(window, {40})}, never()));
        CHECK_ENGINE_ERROR(ErrorCode::Disposed, transcriber->decode({}, decode_options(true, 1), never()));
        transcriber->release({window});
        CHECK(transcriber->stats().decode_steps >= 3);
        CHECK_EQ(transcriber->info().vocab_size, 1768u);
    }
}

}  // namespace pergola::test
