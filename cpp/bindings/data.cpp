// Data: covariance matrices of several conditions, products of columns, and ranks.
#include "bindings/data.hpp"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "bindings/bindings.hpp"
#include "bindings/calls.hpp"
#include "data/concordance.hpp"
#include "data/cross_products.hpp"

namespace bowfree::bindings {

namespace {

using namespace nb::literals;

/// Covariance matrices (K, d, d), shares of the observations, targets (K, d) and kinds; with the
/// constant, second moments (K, d + 1, d + 1).
JointData make_conditions(const Array<double, 3>& S, const std::vector<double>& weights,
                          const Bytes& targets, const std::vector<int>& kinds, bool constant) {
    const std::size_t K = S.shape(0), w = S.shape(1), d = w - constant;
    expect_shape(S, {weights.size(), w, w}, "S must have shape (K, d, d), with K weights");
    expect_shape(targets, {K, d}, "targets must have shape (K, d)");
    if (kinds.size() != K) throw std::invalid_argument("one kind per condition");
    std::vector<ConditionData> all;
    for (std::size_t e = 0; e < K; ++e)
        all.push_back({weights[e],
                       {S.data() + e * w * w, S.data() + (e + 1) * w * w},
                       {targets.data() + e * d, targets.data() + (e + 1) * d},
                       to_kind(kinds[e])});
    for (ConditionData& condition : all) condition.target.resize(w);
    for (std::size_t v = 0; v < d; ++v)
        if (std::ranges::all_of(all, [&](const ConditionData& c) { return c.target[v]; }))
            throw std::invalid_argument("no variable may be a target in every condition");
    return {std::move(all), static_cast<int>(d), constant};
}

/// The `ParameterUse` of each coefficient [head, tail] and error covariance in a condition.
auto parameter_uses(int kind, const Array<std::uint8_t, 1>& targets) {
    const std::size_t d = targets.shape(0);
    const InterventionKind its_kind = to_kind(kind);
    std::vector<std::uint8_t> coefficients(d * d), errors(d * d);
    for (std::size_t i = 0; i < d; ++i)
        for (std::size_t j = 0; j < d; ++j) {
            const bool head = targets.data()[i] != 0, tail = targets.data()[j] != 0;
            coefficients[i * d + j] =
                static_cast<std::uint8_t>(use_of_coefficient(its_kind, tail, head));
            errors[i * d + j] =
                static_cast<std::uint8_t>(i == j ? use_of_variance(its_kind, head)
                                                 : use_of_covariance(its_kind, tail || head));
        }
    return std::pair(to_numpy(std::move(coefficients), {d, d}),
                     to_numpy(std::move(errors), {d, d}));
}

using Ranks = Array<std::int32_t, 1>;

auto multiply_columns(const Matrix& X, const Matrix& Y) {
    const std::size_t n = X.shape(0), d = X.shape(1), e = Y.shape(1);
    expect_shape(Y, {n, e}, "X and Y must have the same number of rows");
    return to_numpy(interruptibly([&](const Stop& stop) {
                        return cross_products(X.data(), Y.data(), n, d, e, stop);
                    }),
                    {d, e});
}

auto count_concordance(const Ranks& x, const Ranks& y) {
    expect_shape(y, {x.shape(0)}, "x and y must have the same length");
    const int n = static_cast<int>(x.shape(0));
    for (const Ranks* ranks : {&x, &y})
        for (int i = 0; i < n; ++i)
            if (ranks->data()[i] < 0 || ranks->data()[i] >= n)
                throw std::invalid_argument("ranks must be at least 0 and below n");
    std::vector<std::int64_t> sum =
        interruptibly([&](const Stop& stop) { return concordance(x.data(), y.data(), n, &stop); });
    return to_numpy(std::move(sum), {x.shape(0)});
}

}  // namespace

void bind_data(nb::module_& m) {
    nb::class_<JointData>(m, "JointData", "Covariance matrices of several conditions.")
        .def(
            "__init__",
            [](JointData* self, const Array<double, 3>& S, const std::vector<double>& weights,
               const Bytes& targets, const std::vector<int>& kinds, bool constant) {
                new (self) JointData(make_conditions(S, weights, targets, kinds, constant));
            },
            "S"_a, "weights"_a, "targets"_a, "kinds"_a, "constant"_a,
            "S: (K, d, d), divisor n. weights: shares of the observations. targets: uint8 (K, d). "
            "kinds: of the interventions, see cpp/data/intervention_kinds.hpp. constant: S are "
            "second moments, (K, d + 1, d + 1); the last variable is always one.")
        .def_ro("set_objective", &JointData::set_objective,
                "The contribution of set variables to F, the same for every graph.")
        .def_ro("n_set", &JointData::n_set, "The number of their variances.");

    m.def("parameter_uses", &parameter_uses, "kind"_a, "targets"_a,
          "The use of each coefficient [head, tail] and each error covariance in a condition: 0\n"
          "absent, 1 shared with other conditions, 2 specific to it.");

    m.def("cross_products", &multiply_columns, "X"_a, "Y"_a,
          "X^T Y, with the same bits on every processor.");
    m.def("concordance", &count_concordance, "x"_a, "y"_a,
          "For each row the number of rows in the same order in x and y, minus those in opposite\n"
          "order; x and y are dense ranks, int32 from 0.");
}

}  // namespace bowfree::bindings
