// Trained parameters, for a small network.
#include "model/base/described.hpp"
#include "model/network/training.hpp"
#include "tests/fuzz/fuzz.hpp"

using namespace convcast;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    static const Network small = read_network(
        R"({"schema": "convcast/network/1", "id": "small", "title": "t", "citation": "c", "input": [1, 4, 4],
            "operators": [{"name": "conv1", "kind": "convolution", "outputs": 2, "window": [3, 3], "output": [2, 2, 2]},
                          {"name": "bias1", "kind": "bias", "output": [2, 2, 2]}]})",
        "small");
    const auto read = [](const std::string &text, const std::string &file) {
        Weights weights = read_weights(text, file, small);
        if (parameters_of(weights, small).size() != small.operators.size())
            std::abort();
        return weights;
    };
    return fuzz::accepted(data, size, read) ? 0 : -1;
}
