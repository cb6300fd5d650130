#include "runtime/graph.hpp"

#include <cmath>
#include <openvino/op/ops.hpp>
#include <thread>

#include "support/files.hpp"
#include "support/harness.hpp"

namespace pergola::test {
namespace {

/// `sum = left * 2 + right`, `left` and `right` of any length.
struct SumModel {
    SumModel() {
        const auto make = [](const char* name) {
            auto parameter = std::make_shared<ov::op::v0::Parameter>(ov::element::f32, ov::PartialShape{-1, 3});
            parameter->output(0).set_names({name});
            return parameter;
        };
        const auto left = make("left"), right = make("right");
        const auto two = ov::op::v0::Constant::create(ov::element::f32, {}, {2.f});
        const auto sum = std::make_shared<ov::op::v1::Add>(std::make_shared<ov::op::v1::Multiply>(left, two), right);
        sum->output(0).set_names({"sum"});
        ov::save_model(std::make_shared<ov::Model>(ov::OutputVector{sum}, ov::ParameterVector{left, right}), xml(), false);
    }
    std::string xml() const { return folder.file("sum.xml"); }
    std::string bin() const { return folder.file("sum.bin"); }
    ScratchFolder folder;
};

ov::Tensor rows(size_t count, float value) {
    ov::Tensor tensor(ov::element::f32, {count, 3});
    std::fill_n(tensor.data<float>(), tensor.get_size(), value);
    return tensor;
}

GraphOptions graph_options(const std::string& xml, const std::string& bin, const std::string& device = "CPU", ov::AnyMap properties = {}) {
    GraphOptions options;
    options.files.xml = xml;
    options.files.bin = bin;
    options.device = device;
    options.properties = std::move(properties);
    return options;
}

std::unique_ptr<Graph> open(const SumModel& model, const std::string& device, ov::AnyMap properties = {}) {
    return std::make_unique<Graph>(graph_options(model.xml(), model.bin(), device, std::move(properties)), LoadControl());
}

std::map<std::string, ov::Tensor> infer(Graph& graph, const std::vector<NamedTensor>& inputs) {
    const StopFlag never{false};
    std::map<std::string, ov::Tensor> result;
    for (const auto& [name, tensor] : graph.infer(inputs, never)) result[name] = tensor;
    return result;
}

}  // namespace

TEST(graph, "tensors go in and come out by name, of any size the graph takes") {
    const SumModel model;
    Graph graph(graph_options(model.xml(), model.bin()), LoadControl());
    for (size_t count : {1u, 5u, 2u}) {
        const auto outputs = infer(graph, {{"left", rows(count, 3)}, {"right", rows(count, 0.5f)}});
        REQUIRE_EQ(outputs.size(), 1u);
        const ov::Tensor& sum = outputs.at("sum");
        CHECK_EQ(sum.get_shape(), (ov::Shape{count, 3}));
        for (size_t i = 0; i < sum.get_size(); ++i) CHECK_EQ(sum.data<float>()[i], 6.5f);
    }
}

TEST(graph, "outputs are the caller's own") {
    const SumModel model;
    Graph graph(graph_options(model.xml(), model.bin()), LoadControl());
    const auto first = infer(graph, {{"left", rows(1, 1)}, {"right", rows(1, 0)}});
    infer(graph, {{"left", rows(1, 9)}, {"right", rows(1, 9)}});
    CHECK_EQ(first.at("sum").data<float>()[0], 2.f);
}

TEST(graph, "missing, unknown and misshapen inputs are option errors, and the graph goes on") {
    const SumModel model;
    Graph graph(graph_options(model.xml(), model.bin()), LoadControl());
    CHECK_EQ(CHECK_ENGINE_ERROR(ErrorCode::Option, infer(graph, {{"left", rows(1, 1)}})).subject, std::string("right"));
    CHECK_EQ(CHECK_ENGINE_ERROR(ErrorCode::Option, infer(graph, {{"left", rows(1, 1)}, {"right", rows(1, 1)}, {"middle", rows(1, 1)}})).subject,
             std::string("middle"));
    CHECK_EQ(CHECK_ENGINE_ERROR(ErrorCode::Option, infer(graph, {{"left", ov::Tensor(ov::element::f32, {1, 4})}, {"right", rows(1, 1)}})).subject,
             std::string("left"));
    CHECK_ENGINE_ERROR(ErrorCode::Option, infer(graph, {{"", rows(1, 1)}, {"", rows(1, 1)}, {"", rows(1, 1)}}));
    CHECK_ENGINE_ERROR(ErrorCode::Native, infer(graph, {{"left", rows(2, 1)}, {"right", rows(3, 1)}}));
    CHECK_EQ(infer(graph, {{"left", rows(1, 1)}, {"right", rows(1, 1)}}).at("sum").data<float>()[0], 3.f);
}

TEST(graph, "inputs that do not fit each other are told with one thread as well") {
    const SumModel model;
    Graph graph(graph_options(model.xml(), model.bin(), "CPU", {{"INFERENCE_NUM_THREADS", "1"}}), LoadControl());
    CHECK_ENGINE_ERROR(ErrorCode::Native, infer(graph, {{"left", rows(2, 1)}, {"right", rows(3, 1)}}));
    CHECK_EQ(infer(graph, {{"left", rows(1, 1)}, {"right", rows(1, 1)}}).at("sum").data<float>()[0], 3.f);
}

TEST(graph, "several threads may use one graph, and several graphs one file") {
    const SumModel model;
    Graph first(graph_options(model.xml(), model.bin()), LoadControl());
    Graph second(graph_options(model.xml(), model.bin()), LoadControl());
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([&, t] {
            Graph& graph = t % 2 ? first : second;
            for (int i = 0; i < 50; ++i) {
                const auto left = static_cast<float>(t * 100 + i);
                const auto outputs = infer(graph, {{"left", rows(2, left)}, {"right", rows(2, 1)}});
                CHECK_EQ(outputs.at("sum").data<float>()[5], left * 2 + 1);
            }
        });
    for (auto& thread : threads) thread.join();
}

TEST(graph, "files and devices that cannot be used are typed errors") {
    const SumModel model;
    CHECK_ENGINE_ERROR(ErrorCode::Device, open(model, "TPU"));
    CHECK_ENGINE_ERROR(ErrorCode::Device, open(model, "CPU", {{"NO_SUCH_PROPERTY", "1"}}));
    CHECK_EQ(CHECK_ENGINE_ERROR(ErrorCode::Model, Graph(graph_options("/nowhere/a.xml", "/nowhere/a.bin"), LoadControl())).file, std::string("/nowhere/a.xml"));
    write_file(model.folder.file("bad.xml"), "<net");
    CHECK_ENGINE_ERROR(ErrorCode::Model, Graph(graph_options(model.folder.file("bad.xml"), model.bin()), LoadControl()));
}

}  // namespace pergola::test
