#include "gguf/read_gguf.hpp"
#include "rewrite/transforms.hpp"

#include <cmath>
#include <openvino/op/ops.hpp>
#include <random>

#include "runtime/core_registry.hpp"
#include "support/generation.hpp"
#include "support/tiny_gguf.hpp"

namespace pergola::test {
namespace {

using ov::op::v0::Constant;

std::shared_ptr<ov::Model> read_fixture(const std::string& architecture) {
    return core().read_model(ir_fixture(architecture, "openvino_model.xml"), ir_fixture(architecture, "openvino_model.bin"));
}

/// Logits of a stateful model for one prompt. With `rows`, those of the tokens at these places.
ov::Tensor logits_of(const std::shared_ptr<ov::Model>& model, const std::vector<int64_t>& ids, const std::vector<int64_t>& rows = {}) {
    auto compiled = core().compile_model(model, "CPU", {{"INFERENCE_PRECISION_HINT", "f32"}});
    auto request = compiled.create_infer_request();
    for (const auto& input : compiled.inputs()) {
        const std::string name = input.get_any_name();
        if (name == "beam_idx") {
            ov::Tensor beam(ov::element::i32, {1});
            *beam.data<int32_t>() = 0;
            request.set_tensor(name, beam);
            continue;
        }
        const bool is_rows = name == "sampled_rows";
        ov::Tensor tensor(ov::element::i64, is_rows ? ov::Shape{rows.size()} : ov::Shape{1, ids.size()});
        for (size_t i = 0; i < tensor.get_size(); ++i)
            tensor.data<int64_t>()[i] = is_rows ? rows[i] : name == "input_ids" ? ids[i] : name == "attention_mask" ? 1 : static_cast<int64_t>(i);
        request.set_tensor(name, tensor);
    }
    request.infer();
    const ov::Tensor logits = request.get_tensor("logits");
    ov::Tensor copy(logits.get_element_type(), logits.get_shape());
    logits.copy_to(copy);
    return copy;
}

/// `y = x W^T` with an embedding table of the same kind before it: ids -> Gather -> MatMul.
struct SmallModel {
    SmallModel(size_t rows, size_t columns, ov::element::Type type, unsigned seed) {
        std::mt19937 random(seed);
        std::normal_distribution<float> normal(0, 1);
        weights.resize(rows * columns);
        for (size_t i = 0; i < weights.size(); ++i) weights[i] = normal(random) * (1.f + static_cast<float>(i / columns % 7));
        const auto matrix = std::make_shared<Constant>(type, ov::Shape{rows, columns}, weights);
        weights = matrix->cast_vector<float>();  // as they are in the model
        ids = std::make_shared<ov::op::v0::Parameter>(ov::element::i64, ov::PartialShape{-1});
        std::shared_ptr<ov::Node> source = matrix;
        if (type != ov::element::f32) source = std::make_shared<ov::op::v0::Convert>(matrix, ov::element::f32);
        gather = std::make_shared<ov::op::v8::Gather>(source, ids, Constant::create(ov::element::i64, {}, {0}));
        matmul = std::make_shared<ov::op::v0::MatMul>(gather, source, false, true);
        model = std::make_shared<ov::Model>(ov::OutputVector{matmul}, ov::ParameterVector{ids});
    }
    std::vector<float> weights;
    std::shared_ptr<ov::op::v0::Parameter> ids;
    std::shared_ptr<ov::Node> gather, matmul;
    std::shared_ptr<ov::Model> model;
};

/// The values that a constant subgraph stands for, computed by the runtime.
std::vector<float> values_of(const ov::Output<ov::Node>& output) {
    const auto model = std::make_shared<ov::Model>(ov::OutputVector{std::make_shared<ov::op::v0::Convert>(output, ov::element::f32)}, ov::ParameterVector{});
    ov::TensorVector results(1);
    results[0] = ov::Tensor(ov::element::f32, output.get_shape());
    REQUIRE(model->evaluate(results, {}));
    return std::vector<float>(results[0].data<float>(), results[0].data<float>() + results[0].get_size());
}

}  // namespace

TEST(transforms, "rows gathered before the last layer have the logits of the whole computation") {
    const std::vector<std::string> all = {"llama", "llama3-rope", "mistral", "phi3", "qwen2", "qwen3"};
    const std::vector<std::string> few = {"llama"};
    const std::vector<int64_t> ids = {5, 17, 200, 33, 8, 9, 250};
    for (const auto& architecture : kSlow ? few : all) {
        const ov::Tensor whole = logits_of(read_fixture(architecture), ids);
        const auto model = read_fixture(architecture);
        REQUIRE(gather_sampled_rows(model));
        for (const std::vector<int64_t>& rows : {std::vector<int64_t>{6}, std::vector<int64_t>{0, 3, 6}}) {
            const ov::Tensor some = logits_of(model, ids, rows);
            const size_t vocabulary = whole.get_shape().back();
            REQUIRE_EQ(some.get_size(), rows.size() * vocabulary);
            for (size_t r = 0; r < rows.size(); ++r)
                for (size_t i = 0; i < vocabulary; ++i)
                    CHECK(std::abs(some.data<float>()[r * vocabulary + i] - whole.data<float>()[static_cast<size_t>(rows[r]) * vocabulary + i]) < 1e-3f);
        }
    }
}

namespace {

void check_same_logits(const ov::Tensor& actual, const ov::Tensor& expected) {
    REQUIRE_EQ(actual.get_shape(), expected.get_shape());
    float largest = 0;
    for (size_t i = 0; i < actual.get_size(); ++i) largest = std::max(largest, std::abs(actual.data<float>()[i] - expected.data<float>()[i]));
    CHECK(largest < 1e-3f);
    CHECK(!std::isnan(actual.data<float>()[0]));
}

}  // namespace

TEST(transforms, "projections of one input become one MatMul, with the same logits") {
    const std::vector<std::string> all = {"llama", "mistral", "phi3", "qwen2", "qwen3"};
    const std::vector<std::string> few = {"llama"};
    const std::vector<int64_t> ids = {5, 17, 200, 33, 8, 9, 250};
    const auto matmuls = [](const std::shared_ptr<ov::Model>& model) {
        size_t count = 0;
        for (const auto& node : model->get_ops()) count += ov::is_type<ov::op::v0::MatMul>(node);
        return count;
    };
    for (const auto& architecture : kSlow ? few : all) {
        const auto model = read_fixture(architecture);
        const size_t before = matmuls(model);
        const size_t groups = fuse_projections(model);
        CHECK(matmuls(model) <= before - groups);
        if (architecture == "llama") CHECK_EQ(groups, 6u);  // three layers: q, k, v; gate, up
        check_same_logits(logits_of(model, ids), logits_of(read_fixture(architecture), ids));
    }
}

TEST(transforms, "one MatMul's f16 weights keep the note that they are to stay f16") {
    const auto notes = [](const std::shared_ptr<ov::Model>& model) {
        size_t without = 0, with = 0;
        for (const auto& node : model->get_ops()) {
            if (!ov::is_type<ov::op::v0::MatMul>(node) || !ov::is_type<ov::op::v0::Convert>(node->get_input_node_ptr(1))) continue;
            const auto& info = node->get_input_node_ptr(1)->get_rt_info();
            const bool kept = std::any_of(info.begin(), info.end(), [](const auto& entry) { return entry.first.rfind("decompression", 0) == 0; });
            ++(kept ? with : without);
        }
        return std::make_pair(with, without);
    };
    const auto model = read_fixture("llama");
    const auto before = notes(model);
    CHECK(before.first > 0);
    const auto unmarked = before.second;  // the frequencies of the rotation
    REQUIRE_EQ(fuse_projections(model), 6u);
    CHECK(notes(model).first > 0);
    CHECK(notes(model).first < before.first);
    CHECK_EQ(notes(model).second, unmarked);
}

TEST(transforms, "a GGUF's rotations of pairs become rotations of halves, with the same logits") {
    ScratchFolder folder;
    write_file(folder.file("model.gguf"), tiny_gguf().file());
    ModelSource source;
    source.kind = ModelSource::Kind::Gguf;
    source.shards = {folder.file("model.gguf")};
    const std::vector<int64_t> ids = {5, 17, 80, 33, 8, 9, 25, 61, 2};
    const auto model = read_gguf(source, folder.path());
    CHECK_EQ(rotate_by_halves(model), 2u);
    check_same_logits(logits_of(model, ids), logits_of(read_gguf(source, folder.path()), ids));
    CHECK_EQ(rotate_by_halves(read_fixture("llama")), 0u);  // has halves already
}

TEST(transforms, "without a last MatMul, or without a token axis, nothing is gathered") {
    const auto input = std::make_shared<ov::op::v0::Parameter>(ov::element::f32, ov::PartialShape{-1, 4});
    const auto model = std::make_shared<ov::Model>(ov::OutputVector{std::make_shared<ov::op::v0::Relu>(input)}, ov::ParameterVector{input});
    CHECK(!gather_sampled_rows(model));
    CHECK_EQ(model->inputs().size(), 1u);
    const auto fixed = std::make_shared<ov::op::v0::Parameter>(ov::element::f32, ov::PartialShape{2, 4});
    const auto matmul = std::make_shared<ov::op::v0::MatMul>(fixed, Constant::create(ov::element::f32, {4, 4}, std::vector<float>(16, 1.f)));
    CHECK(!gather_sampled_rows(std::make_shared<ov::Model>(ov::OutputVector{matmul}, ov::ParameterVector{fixed})));
}

TEST(transforms, "a model without attention cannot be paged") {
    const SmallModel small(64, 64, ov::element::f32, 1);
    bool thrown = false;
    try {
        make_paged(small.model);
    } catch (const std::exception&) {
        thrown = true;
    }
    CHECK(thrown);
    const auto model = read_fixture("llama");
    make_paged(model);
    size_t caches = 0;
    for (const auto& input : model->inputs()) caches += input.get_any_name().rfind("key_cache.", 0) == 0;
    CHECK_EQ(caches, 3u);
}

TEST(weight_rounding, "each weight is off by half a step of its group at most") {
    for (const auto type : {ov::element::f32, ov::element::f16, ov::element::bf16})
        for (size_t group : {0u, 32u, 64u, 100u}) {
            constexpr size_t kRows = 80, kColumns = 192;
            SmallModel small(kRows, kColumns, type, 3);
            CHECK_EQ(round_weights_to_int8(small.model, group), 1u);  // one matrix with two users
            CHECK(small.matmul->input_value(1) == small.gather->input_value(0));
            const auto rounded = values_of(small.matmul->input_value(1));
            REQUIRE_EQ(rounded.size(), small.weights.size());
            const size_t size = group > 0 && kColumns % group == 0 ? group : kColumns;
            bool differs = false;
            for (size_t begin = 0; begin < rounded.size(); begin += size) {
                float largest = 0;
                for (size_t i = begin; i < begin + size; ++i) largest = std::max(largest, std::abs(small.weights[i]));
                // Half a step; then the scale's own rounding to f16 (2^-11, felt by the largest codes) and the product's (f16 too).
                const float bound = largest / 127.f * 0.5f + largest * 0x1.0p-10f;
                for (size_t i = begin; i < begin + size; ++i) {
                    CHECK(std::abs(rounded[i] - small.weights[i]) <= bound);
                    differs = differs || rounded[i] != small.weights[i];
                }
            }
            CHECK(differs);
        }
}

TEST(weight_rounding, "the constants are int8 with f16 scales, a quarter of f32") {
    SmallModel small(128, 256, ov::element::f32, 4);
    const uint64_t before = weight_bytes(small.model);
    CHECK_EQ(before, 128u * 256u * 4u);
    round_weights_to_int8(small.model, 64);
    const uint64_t after = weight_bytes(small.model);
    CHECK(after >= 128u * 256u + 128u * 4u * 2u);
    CHECK(after < 128u * 256u + 128u * 4u * 2u + 64u);  // the Reshape's target shape is a constant too
    size_t bytes = 0, halves = 0;
    for (const auto& node : small.model->get_ordered_ops())
        if (const auto constant = ov::as_type_ptr<Constant>(node)) {
            bytes += constant->get_element_type() == ov::element::i8;
            halves += constant->get_element_type() == ov::element::f16;
        }
    CHECK_EQ(bytes, 1u);
    CHECK_EQ(halves, 1u);
}

TEST(weight_rounding, "rows of zeros, small matrices and matrices the other way round are left right") {
    SmallModel small(64, 128, ov::element::f32, 5);
    const auto zeros = Constant::create(ov::element::f32, {64, 128}, std::vector<float>(64 * 128, 0.f));
    small.matmul->input(1).replace_source_output(zeros);
    CHECK_EQ(round_weights_to_int8(small.model, 64), 2u);
    for (float value : values_of(small.matmul->input_value(1))) CHECK_EQ(value, 0.f);
    SmallModel tiny(8, 16, ov::element::f32, 6);
    CHECK_EQ(round_weights_to_int8(tiny.model, 0), 0u);
    const auto input = std::make_shared<ov::op::v0::Parameter>(ov::element::f32, ov::PartialShape{-1, 128});
    const auto weight = Constant::create(ov::element::f32, {128, 64}, std::vector<float>(64 * 128, 1.f));
    const auto matmul = std::make_shared<ov::op::v0::MatMul>(input, weight, false, false);
    CHECK_EQ(round_weights_to_int8(std::make_shared<ov::Model>(ov::OutputVector{matmul}, ov::ParameterVector{input}), 0), 0u);
}

TEST(weight_rounding, "rounding again changes nothing") {
    SmallModel small(64, 128, ov::element::f32, 7);
    round_weights_to_int8(small.model, 64);
    const auto once = values_of(small.matmul->input_value(1));
    CHECK_EQ(round_weights_to_int8(small.model, 64), 1u);
    const auto twice = values_of(small.matmul->input_value(1));
    REQUIRE_EQ(twice.size(), once.size());
    for (size_t i = 0; i < once.size(); ++i) CHECK(std::abs(once[i] - twice[i]) <= std::abs(once[i]) * 0x1.0p-9f);
}

}  // namespace pergola::test
