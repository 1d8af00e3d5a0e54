// Forecasts one shape on an H200 by every strategy that does it, and names the fastest.
#include "model/machine/knowledge.hpp"
#include "model/predict.hpp"

#include <cstdio>
#include <exception>

int main() {
    try {
        const convcast::GpuProfile profile = convcast::find_profile("h200");
        const convcast::Knowledge knowledge = convcast::knowledge_for(profile);
        const convcast::ConvShape shape = convcast::ConvShape::parse("n1c64h56w56k64r3s3");
        for (const convcast::Case &best : convcast::choose(shape, profile, knowledge, {}, 1))
            if (best.prediction && best.prediction->time_s) {
                std::printf("%s %.17g\n", best.strategy->c_str(), best.prediction->time_s->value);
                return 0;
            }
    } catch (const std::exception &error) {
        std::fprintf(stderr, "%s\n", error.what());
    }
    return 1;
}
