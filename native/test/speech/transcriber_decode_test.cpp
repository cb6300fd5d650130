#include <cmath>
#include <set>
#include <thread>

#include "support/transcriber_fixture.hpp"

namespace pergola::test {
namespace {

/// Token 12 as the end lets windows end at different lengths (transcriber.json has what they say).
DecodeOptions ending(size_t max_new_tokens = 40) { return decode_options(true, max_new_tokens, 12); }

std::vector<DecodeInput> inputs_of(const std::vector<uint64_t>& windows, bool timestamps = true) {
    std::vector<DecodeInput> inputs;
    for (size_t i = 0; i < windows.size(); ++i) inputs.push_back(decode_input(windows[i], timestamps, 100 + 10 * i));
    return inputs;
}

bool same(const Decoding& a, const Decoding& b) {
    return a.ids == b.ids && a.reason == b.reason && a.no_speech_prob == b.no_speech_prob && std::fabs(a.sum_logprob - b.sum_logprob) < 1e-4;
}

}  // namespace

TEST(transcriber, "who shares a batch changes nothing: greedy, beams and samples, in any order and company") {
    const auto transcriber = open_transcriber();
    const auto windows = encode_signals(*transcriber);
    for (int kind = 0; kind < 4; ++kind) {
        DecodeOptions options = ending(25);
        options.beam_size = kind == 1 ? 3 : 1;
        options.temperature = kind >= 2 ? 0.8f : 0.f;
        options.best_of = kind == 3 ? 3 : 1;
        const auto inputs = inputs_of(windows);
        std::vector<Decoding> solo;
        std::set<size_t> lengths;
        for (const auto& input : inputs) {
            solo.push_back(transcriber->decode({input}, options, never()).at(0));
            lengths.insert(solo.back().ids.size());
        }
        CHECK(lengths.size() > 2);  // rows leave at different steps
        SeededNumbers numbers(static_cast<uint64_t>(kind) + 1);
        for (int round = 0; round < (kSlow ? 3 : 8); ++round) {
            std::vector<size_t> chosen;
            for (size_t i = 0; i < 1 + numbers.next() % 9; ++i) chosen.push_back(numbers.next() % inputs.size());  // also one window twice
            std::vector<DecodeInput> batch;
            for (const size_t i : chosen) batch.push_back(inputs[i]);
            const auto together = transcriber->decode(batch, options, never());
            REQUIRE_EQ(together.size(), chosen.size());
            for (size_t i = 0; i < chosen.size(); ++i)
                if (!same(together[i], solo[chosen[i]])) CHECK_EQ(together[i].ids, solo[chosen[i]].ids);
        }
    }
}

TEST(transcriber, "a text that is continued goes on as if it had never been interrupted, and not to its end at once") {
    const auto transcriber = open_transcriber();
    const auto windows = encode_signals(*transcriber);
    DecodeOptions options = ending(25);
    options.rules.begin_suppress.clear();
    for (const auto& input : inputs_of(windows)) {
        const auto whole = transcriber->decode({input}, options, never()).at(0);
        for (size_t cut = 1; cut < whole.ids.size(); cut += 3) {
            DecodeInput rest = input;
            rest.prompt.insert(rest.prompt.end(), whole.ids.begin(), whole.ids.begin() + static_cast<ptrdiff_t>(cut));
            rest.prefix_length = cut;
            DecodeOptions shorter = options;
            shorter.max_new_tokens = options.max_new_tokens - cut;
            const auto continued = transcriber->decode({rest}, shorter, never()).at(0);
            CHECK_EQ(continued.ids, std::vector<int64_t>(whole.ids.begin() + static_cast<ptrdiff_t>(cut), whole.ids.end()));
        }
        if (whole.reason != Decoding::Reason::Stop) continue;
        DecodeInput ended = input;
        ended.prompt.insert(ended.prompt.end(), whole.ids.begin(), whole.ids.end());
        ended.prefix_length = whole.ids.size();
        CHECK(transcriber->decode({ended}, options, never()).at(0).ids.empty());
        DecodeOptions going_on = options;
        going_on.rules.begin_suppress = {static_cast<int32_t>(options.rules.tokens.end_of_text)};
        CHECK(!transcriber->decode({ended}, going_on, never()).at(0).ids.empty());
    }
    DecodeInput wrong = inputs_of(windows).front();
    wrong.prefix_length = wrong.prompt.size();
    CHECK_ENGINE_ERROR(ErrorCode::Option, transcriber->decode({wrong}, options, never()));
}

TEST(transcriber, "a beam search finds likelier texts than the greedy one on the whole, where all run as long") {
    const auto transcriber = open_transcriber();
    const auto windows = encode_signals(*transcriber);
    DecodeOptions options = decode_options(true, 20);
    const auto greedy = transcriber->decode(inputs_of(windows), options, never());
    for (const size_t beams : {2u, 4u, 6u}) {
        options.beam_size = beams;
        const auto found = transcriber->decode(inputs_of(windows), options, never());
        size_t better = 0;
        double gain = 0;
        for (size_t i = 0; i < windows.size(); ++i) {
            CHECK_EQ(found[i].ids.size(), 20u);
            gain += found[i].sum_logprob - greedy[i].sum_logprob;
            better += found[i].sum_logprob > greedy[i].sum_logprob + 1e-3;
        }
        CHECK(better > windows.size() / 2);  // not every one: the greedy text may fall out of the beams on its way
        CHECK(gain > 1);
    }
}

TEST(transcriber, "one beam of any patience is greedy") {
    const auto transcriber = open_transcriber();
    const auto windows = encode_signals(*transcriber);
    const auto greedy = transcriber->decode(inputs_of(windows), ending(), never());
    DecodeOptions options = ending();
    options.beam_size = 1;
    options.patience = 3;
    options.best_of = 5;  // means nothing without a temperature
    CHECK_EQ(ids_of(transcriber->decode(inputs_of(windows), options, never())), ids_of(greedy));
}

TEST(transcriber, "samples depend on the seed alone, and the best of several is at least as likely as the first") {
    const auto transcriber = open_transcriber();
    const uint64_t window = encode_signal(*transcriber, "sweep", 40000);
    DecodeOptions one = decode_options(true, 12), five = one;
    one.temperature = five.temperature = 1.f;
    five.best_of = 5;
    std::set<std::vector<int64_t>> texts;
    for (const uint64_t seed : {1u, 2u, 3u, 40u, 500u}) {
        const auto first = transcriber->decode({decode_input(window, true, seed)}, one, never()).at(0);
        CHECK(same(transcriber->decode({decode_input(window, true, seed)}, one, never()).at(0), first));
        const auto best = transcriber->decode({decode_input(window, true, seed)}, five, never()).at(0);
        CHECK(same(transcriber->decode({decode_input(window, true, seed)}, five, never()).at(0), best));
        CHECK(best.sum_logprob >= first.sum_logprob - 1e-4);  // all run to the limit, so lengths are equal
        CHECK_EQ(best.ids.size(), 12u);
        texts.insert(first.ids);
    }
    CHECK(texts.size() > 2);
    one.temperature = 1e-4f;  // next to none: the likeliest every time
    DecodeOptions greedy = decode_options(true, 12);
    CHECK_EQ(transcriber->decode({decode_input(window, true, 9)}, one, never()).at(0).ids, transcriber->decode({decode_input(window)}, greedy, never()).at(0).ids);
}

TEST(transcriber, "samples keep the rules") {
    const auto transcriber = open_transcriber();
    const uint64_t window = encode_signal(*transcriber, "noise", 48000);
    DecodeOptions options = decode_options(true, 30);
    options.temperature = 3.f;
    for (uint64_t seed = 0; seed < 10; ++seed) {
        const auto ids = transcriber->decode({decode_input(window, true, seed)}, options, never()).at(0).ids;
        REQUIRE(!ids.empty());
        CHECK(ids[0] >= 267 && ids[0] <= 267 + 50);
        int64_t last = 0;
        for (size_t i = 0; i < ids.size(); ++i) {
            CHECK(std::find(options.rules.suppress.begin(), options.rules.suppress.end(), ids[i]) == options.rules.suppress.end());
            CHECK(ids[i] != 266 && ids[i] != 256);
            if (ids[i] < 267) continue;
            CHECK(ids[i] >= last);
            CHECK(i < 2 || ids[i - 1] < 267 || ids[i - 2] < 267);  // never three times in a row
            last = ids[i];
        }
    }
}

TEST(transcriber, "the limit of new tokens is kept, and what was said up to it stays") {
    const auto transcriber = open_transcriber();
    const uint64_t window = encode_signal(*transcriber, "sines", 32000);
    const auto whole = transcriber->decode({decode_input(window)}, decode_options(true, 30), never()).at(0);
    CHECK_EQ(whole.ids.size(), 30u);
    CHECK_EQ(whole.reason, Decoding::Reason::Length);
    for (const size_t limit : {1u, 2u, 7u, 29u}) {
        const auto part = transcriber->decode({decode_input(window)}, decode_options(true, limit), never()).at(0);
        CHECK_EQ(part.ids, std::vector<int64_t>(whole.ids.begin(), whole.ids.begin() + static_cast<ptrdiff_t>(limit)));
        CHECK_EQ(part.reason, Decoding::Reason::Length);
    }
    CHECK(transcriber->decode({decode_input(window)}, decode_options(true, 0), never()).at(0).ids.size() <= 1);
}

TEST(transcriber, "prompt and text together never have more positions than the model") {
    const auto transcriber = open_transcriber();
    const uint64_t window = encode_signal(*transcriber, "sines", 32000);
    for (const size_t length : {10u, 440u, 446u, 447u}) {
        DecodeInput input = decode_input(window);
        while (input.prompt.size() < length) input.prompt.insert(input.prompt.begin(), 100);
        input.sot_index = length - 3;
        const auto result = transcriber->decode({input}, decode_options(true, 10000), never()).at(0);
        CHECK_EQ(result.ids.size(), 448 - length);
        CHECK_EQ(result.reason, Decoding::Reason::Length);
    }
}

TEST(transcriber, "a stop flag ends a running call with what there is") {
    const auto transcriber = open_transcriber();
    const auto windows = encode_signals(*transcriber);
    TranscriberCall at_once;
    at_once.stop = true;
    const auto stopped = transcriber->decode(inputs_of(windows), decode_options(true, 40), at_once);
    REQUIRE_EQ(stopped.size(), windows.size());
    for (const auto& one : stopped) {
        CHECK_EQ(one.reason, Decoding::Reason::Stopped);
        CHECK(one.ids.size() <= 1);
    }
    CHECK(transcriber->encode({{made_mel("noise", 1600), 0, 10}}, at_once).empty());

    // From another thread: 440 steps are far more than pass before the flag is set after the third one.
    const auto whole = transcriber->decode({decode_input(windows[0])}, decode_options(true, 440), never()).at(0);
    TranscriberCall call;
    const uint64_t before = transcriber->stats().decode_steps;
    std::thread stopper([&] {
        while (transcriber->stats().decode_steps < before + 3) std::this_thread::yield();
        call.stop = true;
    });
    const auto part = transcriber->decode({decode_input(windows[0])}, decode_options(true, 440), call).at(0);
    stopper.join();
    CHECK(part.ids.size() >= 3 && part.ids.size() <= whole.ids.size());
    CHECK(std::equal(part.ids.begin(), part.ids.end(), whole.ids.begin()));
    CHECK(part.reason == Decoding::Reason::Stopped || part.ids.size() == whole.ids.size());
    // And the transcriber goes on.
    CHECK_EQ(transcriber->decode({decode_input(windows[0])}, decode_options(true, 440), never()).at(0).ids, whole.ids);
}

}  // namespace pergola::test
