// What is wrong with a graph as such, before its nodes are taken: the version of its operators, tensors that
// nothing gives or that are given twice, cycles. And what a reader of the forecast has to know of it.
#include "model/network/onnx/importer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace convcast::onnx {
namespace {

constexpr std::size_t most_of_a_name = 80; ///< letters of a message

std::string quoted(const std::string &name) {
    return "'" + shortened(name, most_of_a_name) + "'";
}

} // namespace

void Importer::check_opset() {
    if (graph_.opset && (*graph_.opset < first_opset || *graph_.opset > last_opset))
        problem(file_ + " (ONNX)",
                fmt::format("its operators are of opset {0}; expected {1} to {2}. Export it again with, for "
                            "example, opset_version=17, or type: python3 -c \"import onnx; "
                            "onnx.save(onnx.version_converter.convert_version(onnx.load('FILE'), 17), "
                            "'NEW.onnx')\"",
                            *graph_.opset, first_opset, last_opset));
}

void Importer::check_tensors() {
    std::map<std::string, std::string> given; // tensor -> what gives it
    const auto give_once = [&](const std::string &name, const std::string &by, const std::string &place) {
        const auto [before, fresh] = given.try_emplace(name, by);
        if (!fresh)
            problem(place, fmt::format("its output {} is given by {} already; expected that each tensor is "
                                       "written once. Give one of both another name",
                                       quoted(name), before->second));
    };
    std::set<std::string> of_nodes; // constants that are nodes
    for (const OnnxNode &node : graph_.nodes)
        if (node.type == "Constant") // whose numbers stand among the tensors as well
            of_nodes.insert(node.outputs.begin(), node.outputs.end());
    for (const std::string &name : graph_.inputs)
        give_once(name, "an input of the file", file_ + " (ONNX)");
    for (const OnnxTensor &tensor : graph_.tensors)
        if (tensor.constant && !of_nodes.contains(tensor.name))
            give_once(tensor.name, "the file's weights", file_ + " (ONNX)");
    for (const OnnxNode &node : graph_.nodes)
        for (const std::string &output : node.outputs)
            if (!output.empty())
                give_once(output, "node " + shortened(node.name, most_of_a_name),
                          file_ + " (ONNX): " + shortened(node.name, most_of_a_name));
    for (const OnnxNode &node : graph_.nodes) {
        node_ = &node;
        for (const std::string &input : node.inputs)
            if (!input.empty() && !given.contains(input)) {
                refuse(fmt::format("it reads {}, which nothing gives; expected an input of the file, one of "
                                   "its weights, or the output of a node. Export the model again: the file "
                                   "is not whole",
                                   quoted(input)));
                lost_.insert(input); // and no more is said of what reads it
            }
    }
    for (const std::string &output : graph_.outputs)
        if (!given.contains(output))
            problem(file_ + " (ONNX)",
                    fmt::format("its output {} is given by no node; expected one of the nodes' outputs",
                                quoted(output)));
}

void Importer::order_nodes() {
    std::map<std::string, const OnnxNode *> given_by;
    for (const OnnxNode &node : graph_.nodes)
        for (const std::string &output : node.outputs)
            if (!output.empty())
                given_by.try_emplace(output, &node);
    // Always the first node of the file whose inputs all nodes before it give. `waits`: by node, how many of
    // the nodes that it reads are not in the order yet.
    std::map<const OnnxNode *, std::size_t> waits;
    std::map<const OnnxNode *, std::vector<const OnnxNode *>> readers;
    for (const OnnxNode &node : graph_.nodes) {
        std::set<const OnnxNode *> read;
        for (const std::string &input : node.inputs)
            if (const auto giver = given_by.find(input); giver != given_by.end())
                read.insert(giver->second);
        waits[&node] = read.size();
        for (const OnnxNode *giver : read)
            readers[giver].push_back(&node);
    }
    std::set<const OnnxNode *> ready; // nodes lie in one array: the first address comes first in the file
    for (const OnnxNode &node : graph_.nodes)
        if (waits[&node] == 0)
            ready.insert(&node);
    while (!ready.empty()) {
        const OnnxNode *next = *ready.begin();
        ready.erase(ready.begin());
        order_.push_back(next);
        for (const OnnxNode *reader : readers[next])
            if (--waits[reader] == 0)
                ready.insert(reader);
    }
    if (order_.size() == graph_.nodes.size())
        return;
    std::set<const OnnxNode *> said; // of each cycle that is a problem already, the first node in the file
    for (const OnnxNode &node : graph_.nodes) {
        if (waits[&node] == 0)
            continue;
        node_ = &node;
        lose();
        const std::vector<const OnnxNode *> cycle = cycle_from(node, given_by);
        if (!said.insert(*std::min_element(cycle.begin(), cycle.end())).second)
            continue;
        std::vector<std::string> names;
        for (const OnnxNode *each : cycle)
            names.push_back(shortened(each->name, most_of_a_name));
        std::reverse(names.begin(), names.end()); // from what is read to what reads
        names.push_back(names.front());
        node_ = cycle.front();
        problem(fmt::format("it waits for its own output: {}; expected a graph without cycles. Export the "
                            "model again, or take one of these inputs away",
                            names.size() > 9 ? join_some(names, 8) : join(names, " -> ")));
    }
}

std::vector<const OnnxNode *>
Importer::cycle_from(const OnnxNode &first, const std::map<std::string, const OnnxNode *> &given_by) const {
    const std::set<const OnnxNode *> ordered(order_.begin(), order_.end());
    std::vector<const OnnxNode *> way;
    std::set<const OnnxNode *> seen;
    const OnnxNode *at = &first;
    while (seen.insert(at).second) { // every node that is left out reads another one that is
        way.push_back(at);
        for (const std::string &input : at->inputs)
            if (const auto giver = given_by.find(input);
                giver != given_by.end() && !ordered.contains(giver->second)) {
                at = giver->second;
                break;
            }
    }
    way.erase(way.begin(), std::find(way.begin(), way.end(), at)); // what led into the cycle
    return way;
}

void Importer::say_remarks() {
    std::vector<std::string> unknown;
    for (const Operator &op : out_.operators)
        if (const auto why = whys_.find(op.name); why != whys_.end())
            unknown.push_back(fmt::format("{} ({}: {})", op.name, op.node.value_or("?"), why->second));
    if (!unknown.empty())
        remarks_.push_back(
            fmt::format("{}: {} not known and forecast by the bytes {}, without arithmetic: {}", file_,
                        unknown.size() == 1 ? "1 node is" : fmt::format("{} nodes are", unknown.size()),
                        unknown.size() == 1 ? "it moves" : "they move", join_some(unknown, 5)));
    std::set<std::string> types;
    constexpr std::int64_t few =
        64; // chosen: smaller constants are sizes, factors and limits, and no weights
    for (const OnnxTensor &tensor : graph_.tensors) {
        const bool weights = tensor.constant && Numbers{tensor.sizes, {}}.count() > few;
        const bool images =
            std::find(graph_.inputs.begin(), graph_.inputs.end(), tensor.name) != graph_.inputs.end();
        for (const char *other : {"float16", "bfloat16", "double"})
            if ((weights || images) && tensor.type == other)
                types.insert(other);
    }
    if (!types.empty())
        remarks_.push_back(fmt::format(
            "{}: its numbers are {}; convcast forecasts and runs networks in FP32, of 4 bytes a number",
            file_, join({types.begin(), types.end()})));
}

} // namespace convcast::onnx
