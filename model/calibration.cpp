#include "model/calibration.hpp"

#include "model/described.hpp"
#include "model/embedded.hpp"

namespace convcast {

extern const std::vector<EmbeddedFile> shipped_calibration_files;

Calibration read_calibration(const std::string &text, const std::string &file) {
    Calibration calibration = described::read_document<Calibration>(text, file, "convcast/calibration/2");
    std::vector<InputProblem> problems;
    const auto within = [&](const std::string &name, double value, double low, double high) {
        if (!(value >= low && value <= high))
            problems.push_back({file + ": /" + name, "expected a number from " + std::to_string(low) +
                                                         " to " + std::to_string(high) + ", for example 1"});
    };
    const auto check = [&](const std::string &where, const FittedNumbers &numbers) {
        within(where + "first_wave_miss", numbers.first_wave_miss, 0.0, 4.0);
        within(where + "cold_share", numbers.cold_share, 0.0, 4.0);
        within(where + "steps_overlap", numbers.steps_overlap, 1.0, 100.0);
        within(where + "units_overlap", numbers.units_overlap, 1.0, 100.0);
    };
    check("fitted/", calibration.fitted);
    for (std::size_t i = 0; i < calibration.resampled.size(); ++i)
        check("resampled/" + std::to_string(i) + "/", calibration.resampled[i]);
    within("ratio_p05", calibration.ratio_p05, 0.01, 100.0);
    within("ratio_p95", calibration.ratio_p95, 0.01, 100.0);
    if (!(calibration.ratio_p05 <= calibration.ratio_p95))
        problems.push_back({file + ": /ratio_p05", "expected no more than ratio_p95"});
    if (!problems.empty())
        throw InputError(std::move(problems));
    return calibration;
}

std::string write_calibration(const Calibration &calibration) {
    return to_text(described::write(calibration));
}

const Calibration *shipped_calibration(const std::string &gpu) {
    static const std::vector<Calibration> all = [] {
        std::vector<Calibration> read;
        for (const EmbeddedFile &file : shipped_calibration_files)
            read.push_back(read_calibration(file.text, file.path));
        return read;
    }();
    for (const Calibration &calibration : all)
        if (calibration.gpu == gpu)
            return &calibration;
    return nullptr;
}

} // namespace convcast
