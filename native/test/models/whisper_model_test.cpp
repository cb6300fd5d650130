#include "base/vector_math.hpp"
#include "models/whisper_model.hpp"

#include <cmath>
#include <openvino/op/ops.hpp>

#include "runtime/core_registry.hpp"
#include "support/transcriber_fixture.hpp"

namespace pergola::test {
namespace {

using ModelPointer = std::shared_ptr<ov::Model>;

ModelPointer encoder_graph() { return read_ir(transcriber_options().model.encoder); }
ModelPointer decoder_graph() { return read_ir(transcriber_options().model.decoder); }

/// The rewritten pair under the runtime itself, with the features of random.json: 0.5 sin(0.05 frame + 0.3 bin).
class Pair {
public:
    Pair() {
        const auto encoder = encoder_graph(), decoder = decoder_graph();
        join_cross_attention(encoder, decoder, {1}, "decoder.xml");
        const ov::AnyMap exact{{"INFERENCE_PRECISION_HINT", std::string("f32")}, {"KV_CACHE_PRECISION", std::string("f32")}};
        auto request = core().compile_model(encoder, "CPU", exact).create_infer_request();
        ov::Tensor features(ov::element::f32, {1, 80, 3000});
        for (int bin = 0; bin < 80; ++bin)
            for (int frame = 0; frame < 3000; ++frame) features.data<float>()[bin * 3000 + frame] = static_cast<float>(0.5 * std::sin(0.05 * frame + 0.3 * bin));
        request.set_input_tensor(features);
        request.infer();
        decoder_ = core().compile_model(decoder, "CPU", exact).create_infer_request();
        for (const char* what : {"key", "value"})
            for (const size_t layer : {0u, 1u}) {
                const ov::Tensor tensor = request.get_tensor(cross_name(what, layer));
                decoder_.set_tensor(cross_name(what, layer), tensor);
                if (std::string(what) == "key" && layer == 1) {
                    key = ov::Tensor(tensor.get_element_type(), tensor.get_shape());
                    tensor.copy_to(key);
                }
            }
    }

    /// Logits `[rows][1768]` at the positions `sampled` of `ids`, which continue what came before unless `fresh`.
    std::vector<float> logits(const std::vector<int64_t>& ids, const std::vector<int64_t>& sampled, bool fresh) {
        if (fresh) decoder_.reset_state();
        ov::Tensor input(ov::element::i64, {1, ids.size()}), rows(ov::element::i64, {sampled.size()}), beams(ov::element::i32, {1});
        std::copy(ids.begin(), ids.end(), input.data<int64_t>());
        std::copy(sampled.begin(), sampled.end(), rows.data<int64_t>());
        beams.data<int32_t>()[0] = 0;
        decoder_.set_tensor("input_ids", input);
        decoder_.set_tensor("sampled_rows", rows);
        decoder_.set_tensor("beam_idx", beams);
        decoder_.infer();
        const ov::Tensor result = decoder_.get_tensor("logits");
        CHECK_EQ(result.get_shape(), (ov::Shape{1, sampled.size(), 1768}));
        return {result.data<float>(), result.data<float>() + result.get_size()};
    }
    ov::Tensor query() { return decoder_.get_tensor(cross_name("query", 1)); }

    ov::Tensor key;

private:
    ov::InferRequest decoder_;
};

const Json& golden() {
    static const Json* file = new Json(JsonReader(read_file(whisper_fixture("golden/random.json"))).read());
    return (*file)["cases"]["sin"];
}

int64_t best_of(const std::vector<float>& logits) { return std::max_element(logits.begin(), logits.end()) - logits.begin(); }

}  // namespace

TEST(whisper_graph, "the rewritten pair gives the logits of transformers") {
    Pair pair;
    const Json& forced = golden()["teacher_forced"];
    const std::vector<int64_t> ids = forced["ids"].ids();
    std::vector<int64_t> all;
    for (size_t i = 0; i < ids.size(); ++i) all.push_back(static_cast<int64_t>(i));
    const std::vector<float> logits = pair.logits(ids, all, true);
    for (size_t i = 0; i < ids.size(); ++i) {
        for (size_t j = 0; j < 8; ++j) CHECK(std::fabs(logits[i * 1768 + j] - forced["first8_per_position"].list[i].list[j].number) < 1e-4);
        CHECK_EQ(best_of({logits.begin() + static_cast<ptrdiff_t>(i * 1768), logits.begin() + static_cast<ptrdiff_t>((i + 1) * 1768)}), forced["argmax"].ids()[i]);
    }
    double sum = 0;
    for (size_t i = (ids.size() - 1) * 1768; i < logits.size(); ++i) sum += logits[i];
    CHECK(std::fabs(sum - forced["last_position_sum"].number) < 2e-2);
    // Any choice of positions gives the same rows.
    const std::vector<float> some = pair.logits(ids, {6, 2}, true);
    for (size_t i = 0; i < 1768; ++i)
        REQUIRE(std::fabs(some[i] - logits[6 * 1768 + i]) < 1e-5 && std::fabs(some[1768 + i] - logits[2 * 1768 + i]) < 1e-5);
    const std::vector<float> languages = pair.logits({257}, {0}, true);
    for (const auto& [name, id] : std::map<std::string, size_t>{{"<|en|>", 258}, {"<|de|>", 259}, {"<|fr|>", 260}})
        CHECK(std::fabs(languages[id] - golden()["language_logits"][name].number) < 1e-4);
}

TEST(whisper_graph, "queries and keys give the attention of transformers") {
    Pair pair;
    pair.logits(golden()["teacher_forced"]["ids"].ids(), {6}, true);
    const ov::Tensor query = pair.query();
    REQUIRE_EQ(query.get_shape(), (ov::Shape{1, 2, 7, 8}));
    REQUIRE_EQ(pair.key.get_shape(), (ov::Shape{1, 2, 1500, 8}));
    const float* q = query.data<float>() + (7 + 6) * 8;  // head 1, last position
    const float* k = pair.key.data<float>() + 1500 * 8;
    std::vector<float> scores(1500, 0.f);
    for (size_t frame = 0; frame < 1500; ++frame)
        for (size_t i = 0; i < 8; ++i) scores[frame] += q[i] * k[frame * 8 + i];
    REQUIRE(log_softmax(scores.data(), scores.size()));
    const auto& expected = golden()["cross_attention_head_1_1"]["values"].list;
    for (size_t i = 0; i < expected.size(); ++i) CHECK(std::fabs(std::exp(scores[i]) - expected[i].number) < 1.5e-7);
}

TEST(whisper_graph, "step by step, the ids of transformers without and with the rules of timestamps") {
    Pair pair;
    const Json& greedy = golden()["greedy_no_rules"];
    std::vector<float> logits = pair.logits(greedy["prompt"].ids(), {3}, true);
    for (const Json& step : greedy["steps_id_logit_margin"].list) {
        const int64_t id = static_cast<int64_t>(step.list[0].number);
        REQUIRE_EQ(best_of(logits), id);
        CHECK(std::fabs(logits[static_cast<size_t>(id)] - step.list[1].number) < 1e-3);
        logits = pair.logits({id}, {0}, false);
    }
    const WhisperRules rules(decode_options(true, 24).rules, 1768);
    // transformers cuts the window after the second time of the last pair (9 ids) and begins another one there.
    std::vector<int64_t> expected = golden()["hf_generate_timestamps"]["ids"].ids(), ids;
    expected.resize(9);
    logits = pair.logits(prompt_of(true), {2}, true);
    while (ids.size() < expected.size()) {
        rules.apply(logits.data(), ids);
        ids.push_back(best_of(logits));
        logits = pair.logits({ids.back()}, {0}, false);
    }
    CHECK_EQ(ids, expected);
}

TEST(whisper_graph, "what is no pair of Whisper is unsupported, and the message says what to do") {
    const auto unsupported = [&](const ModelPointer& encoder, const ModelPointer& decoder) {
        const auto error = CHECK_ENGINE_ERROR(ErrorCode::Unsupported, join_cross_attention(encoder, decoder, {0}, "some/decoder.xml"));
        CHECK(std::string(error.what()).find("some/decoder.xml") != std::string::npos);
        CHECK(std::string(error.what()).find("optimum-cli") != std::string::npos);
    };
    unsupported(encoder_graph(), encoder_graph());
    unsupported(decoder_graph(), encoder_graph());
    ModelSource llama;
    llama.xml = fixture("llama-tiny-ir/openvino_model.xml");
    llama.bin = fixture("llama-tiny-ir/openvino_model.bin");
    unsupported(encoder_graph(), read_ir(llama));
    // A decoder that was rewritten already has no states of cross-attention left.
    const auto decoder = decoder_graph();
    join_cross_attention(encoder_graph(), decoder, {}, "decoder.xml");
    unsupported(encoder_graph(), decoder);
}

TEST(whisper_graph, "alignment heads of layers that there are not are a model error that names the file") {
    const auto error = CHECK_ENGINE_ERROR(ErrorCode::Model, join_cross_attention(encoder_graph(), decoder_graph(), {0, 2}, "decoder.xml"));
    CHECK_EQ(error.file, std::string("decoder.xml"));
    CHECK(std::string(error.what()).find("2 layers") != std::string::npos);
}

TEST(whisper_model, "configurations that do not belong to the model are model errors") {
    const auto refused = [](const std::function<void(TranscriberOptions&)>& change) {
        TranscriberOptions options = transcriber_options();
        change(options);
        const auto error = CHECK_ENGINE_ERROR(ErrorCode::Model, Transcriber(options, LoadControl()));
        CHECK(error.file.find("tiny-ir") != std::string::npos);
    };
    refused([](auto& options) { options.mel_bins = 128; });
    refused([](auto& options) { options.tokens.timestamp_begin = 50364; });
    refused([](auto& options) { options.tokens.end_of_text = 1768; });
    refused([](auto& options) { options.alignment_heads = {{2, 0}}; });
    refused([](auto& options) { options.alignment_heads = {{0, 0}, {1, 2}}; });  // two heads a layer
    refused([](auto& options) { options.alignment_heads = {{100000, 0}}; });
}

TEST(whisper_model, "missing and damaged files are model errors, other models unsupported") {
    ScratchFolder folder;
    TranscriberOptions options = transcriber_options();
    options.model.model_key = folder.path();
    options.model.encoder.xml = folder.file("none.xml");
    CHECK_ENGINE_ERROR(ErrorCode::Model, Transcriber(options, LoadControl()));
    options.model.encoder.xml = folder.file("damaged.xml");
    write_file(options.model.encoder.xml, read_file(transcriber_options().model.encoder.xml).substr(0, 20000));
    CHECK_ENGINE_ERROR(ErrorCode::Model, Transcriber(options, LoadControl()));
    options.model.encoder = transcriber_options().model.encoder;
    options.model.decoder.bin = folder.file("short.bin");
    write_file(options.model.decoder.bin, read_file(transcriber_options().model.decoder.bin).substr(0, 1000));
    CHECK_ENGINE_ERROR(ErrorCode::Model, Transcriber(options, LoadControl()));
    options.model.decoder = options.model.encoder;
    CHECK_ENGINE_ERROR(ErrorCode::Unsupported, Transcriber(options, LoadControl()));
    options.model.device = "NPU";
    CHECK_ENGINE_ERROR(ErrorCode::Device, Transcriber(options, LoadControl()));
}

TEST(whisper_model, "weights that are no numbers are told, not taken for a text") {
    ScratchFolder folder;
    TranscriberOptions options = transcriber_options();
    options.model.model_key = folder.path();
    options.model.decoder.bin = folder.file("nan.bin");
    std::string bytes = read_file(transcriber_options().model.decoder.bin);
    const size_t begin = 2154;  // the token embeddings [1768, 16] in f16, which are the projection to the vocabulary too
    for (size_t i = begin; i < begin + 1768 * 16 * 2; i += 2) {
        bytes[i] = '\0';
        bytes[i + 1] = '\x7e';  // f16 NaN
    }
    write_file(options.model.decoder.bin, bytes);
    Transcriber transcriber(options, LoadControl());
    const uint64_t window = encode_signal(transcriber, "noise", 48000);
    DecodeOptions greedy = decode_options(true, 5), beams = greedy, samples = greedy;
    beams.beam_size = 3;
    samples.temperature = 0.5f;
    for (const auto& one : {greedy, beams, samples}) CHECK_ENGINE_ERROR(ErrorCode::Native, transcriber.decode({decode_input(window)}, one, never()));
}

}  // namespace pergola::test
