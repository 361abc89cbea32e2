// Bindings of the fitting kernels: one call fits all districts of a graph.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "bindings/arrays.hpp"
#include "bindings/bindings.hpp"
#include "bindings/calls.hpp"
#include "bindings/data.hpp"
#include "bindings/interventions.hpp"
#include "data/cross_products.hpp"
#include "model/concordance.hpp"
#include "model/likelihood.hpp"

namespace bowfree::bindings {

namespace {

using namespace nb::literals;

/// The fits of all districts of one graph on d nodes.
struct GraphFit {
    int d;
    std::vector<District> districts;
    std::vector<DistrictFit> fits;

    std::vector<std::vector<int>> members() const {
        std::vector<std::vector<int>> all;
        for (const District& district : districts)
            all.emplace_back(district.nodes.begin(), district.nodes.begin() + district.k);
        return all;
    }

    /// Scatters each district's k x columns matrix into a d x d one, which NumPy then owns.
    auto scatter(std::vector<double> DistrictFit::* matrix) const {
        std::vector<double> full(static_cast<std::size_t>(d) * d);
        for (std::size_t c = 0; c < districts.size(); ++c) {
            const District& district = districts[c];
            const std::vector<double>& local = fits[c].*matrix;
            const int columns = static_cast<int>(local.size()) / district.k;
            for (int v = 0; v < district.k; ++v)
                for (int j = 0; j < columns; ++j) {
                    if (district.nodes[j] == d) continue;  // the constant
                    full[static_cast<std::size_t>(district.nodes[v]) * d + district.nodes[j]] =
                        local[v * columns + j];
                }
        }
        return to_numpy(std::move(full),
                        {static_cast<std::size_t>(d), static_cast<std::size_t>(d)});
    }

    /// The same with what the condition of this number has to itself.
    auto scatter(std::vector<double> DistrictFit::* matrix, std::vector<double> OwnFit::* own,
                 int condition) const {
        GraphFit here = *this;
        for (DistrictFit& fit : here.fits)
            for (const OwnFit& part : fit.own)
                if (part.condition == condition) fit.*matrix = part.*own;
        return here.scatter(matrix);
    }

    /// The coefficients of the constant; zero where there is none.
    auto intercepts(int condition) const {
        std::vector<double> found(d);
        for (std::size_t c = 0; c < districts.size(); ++c) {
            const District& district = districts[c];
            const int m = district.m();
            if (district.nodes[m - 1] != d) continue;
            const std::vector<double>* B = &fits[c].B;
            for (const OwnFit& part : fits[c].own)
                if (part.condition == condition) B = &part.B;
            for (int v = 0; v < district.k; ++v) found[district.nodes[v]] = (*B)[v * m + m - 1];
        }
        return to_numpy(std::move(found), {static_cast<std::size_t>(d)});
    }

    /// One number per district.
    template <class T>
    std::vector<T> column(T DistrictFit::* field) const {
        std::vector<T> values;
        for (const DistrictFit& fit : fits) values.push_back(fit.*field);
        return values;
    }
};

GraphFit fit_graph(const Data& data, const Bits& parents, const Bits& spouses,
                   const std::string& method, int max_iter, double tol, int n_starts,
                   std::uint64_t seed, bool look, std::optional<double> seconds, int end_at_ask) {
    const Graph graph = to_graph(parents, spouses);
    const int d = graph.d();
    const JointData conditions = to_conditions(data, d);
    if (method != "newton" && method != "ricf")
        throw std::invalid_argument("method must be 'newton' or 'ricf', got '" + method + "'");
    if (method == "ricf") expect_plain(conditions);

    return until_ask(end_at_ask, seconds, [&](const Stop& stop) {
        GraphFit result{d, {}, {}};
        DistrictFitter fitter(conditions, &stop);
        for (const auto& members : districts(graph)) {
            result.districts.push_back(conditions.district(graph, members));
            const District& district = result.districts.back();
            result.fits.push_back(method == "ricf" ? ricf(conditions.all[0].S.data(), d, district,
                                                          max_iter, tol, &stop)
                                                   : fitter.fit(district, {n_starts, seed, look}));
        }
        return result;
    });
}

/// Covariance matrices (K, d, d), their shares of the observations, targets (K, d), and kinds; with
/// the constant, second moments (K, d + 1, d + 1).
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
        if (std::all_of(all.begin(), all.end(),
                        [&](const ConditionData& c) { return c.target[v]; }))
            throw std::invalid_argument("every variable must be left alone by some condition");
    return {std::move(all), static_cast<int>(d), constant};
}

/// What each coefficient [head, tail] and error covariance is in a condition, numbered as `Use`.
auto parameter_uses(int kind, const Array<std::uint8_t, 1>& targets) {
    const std::size_t d = targets.shape(0);
    const Kind done = to_kind(kind);
    std::vector<std::uint8_t> coefficients(d * d), errors(d * d);
    for (std::size_t i = 0; i < d; ++i)
        for (std::size_t j = 0; j < d; ++j) {
            const bool head = targets.data()[i] != 0, tail = targets.data()[j] != 0;
            coefficients[i * d + j] =
                static_cast<std::uint8_t>(use_of_coefficient(done, tail, head));
            errors[i * d + j] = static_cast<std::uint8_t>(
                i == j ? use_of_variance(done, head) : use_of_covariance(done, tail || head));
        }
    return std::pair(to_numpy(std::move(coefficients), {d, d}),
                     to_numpy(std::move(errors), {d, d}));
}

/// Some sweeps over every district, from B = 0.
GraphFit sweep_groups(const Data& data, const Bits& parents, const Bits& spouses, int n_sweeps,
                      int end_at_ask) {
    const Graph graph = to_graph(parents, spouses);
    const JointData conditions = to_conditions(data, graph.d());
    return until_ask(end_at_ask, [&](const Stop& stop) {
        GraphFit result{graph.d(), {}, {}};
        GroupSweeps sweeps;
        for (const auto& members : districts(graph)) {
            const District given = conditions.district(graph, members);
            std::vector<Pooled> groups = pool(conditions, given);
            double share = 0.0;  // of the observations that tell of the district
            for (const Pooled& group : groups) share += group.weight;
            for (Pooled& group : groups) group.weight /= share;
            const District district = told_of(given, groups);
            const int k = district.k, m = district.m();
            DistrictFit fit;
            fit.B.assign(k * m, 0.0);
            sweeps.reset(district, groups, &stop);
            sweeps.start(fit.B.data());
            while (fit.n_iter < n_sweeps && sweeps.sweep()) ++fit.n_iter;
            for (int v = 0; v < k; ++v)
                for (int j = 0; j < m; ++j)
                    fit.B[v * m + j] = (v == j ? 1.0 : 0.0) - sweeps.A()[v * m + j];
            fit.Omega = sweeps.Omega();
            fit.objective = share * sweeps.objective();
            result.districts.push_back(district);
            result.fits.push_back(std::move(fit));
        }
        return result;
    });
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

void bind_model(nb::module_& m) {
    const auto entry = [](auto field) {
        return [field](const GraphFit& fit) { return fit.column(field); };
    };
    nb::class_<GraphFit>(m, "GraphFit", "Fits of all districts of a graph, one entry per district.")
        .def_prop_ro("districts", &GraphFit::members, "Node indices of each district, ascending.")
        .def_prop_ro(
            "B", [](const GraphFit& fit) { return fit.scatter(&DistrictFit::B); },
            nb::rv_policy::automatic, "(d, d): B[i, j] is the effect of j on i.")
        .def_prop_ro(
            "Omega", [](const GraphFit& fit) { return fit.scatter(&DistrictFit::Omega); },
            nb::rv_policy::automatic, "(d, d): covariance matrix of the errors.")
        .def(
            "B_in",
            [](const GraphFit& fit, int condition) {
                return fit.scatter(&DistrictFit::B, &OwnFit::B, condition);
            },
            "condition"_a, "B in a condition, which may have parameters of its own.")
        .def(
            "Omega_in",
            [](const GraphFit& fit, int condition) {
                return fit.scatter(&DistrictFit::Omega, &OwnFit::Omega, condition);
            },
            "condition"_a, "Omega in a condition.")
        .def("intercepts_in", &GraphFit::intercepts, "condition"_a,
             "(d,): coefficients of the constant in a condition.")
        .def_prop_ro("objective", entry(&DistrictFit::objective),
                     "F = log|Omega_C| + tr(Omega_C^-1 E_C) at the end.")
        .def_prop_ro("canonical", entry(&DistrictFit::canonical),
                     "F at the end of the canonical starts, which scores are made of.")
        .def_prop_ro("converged", entry(&DistrictFit::converged))
        .def_prop_ro("decrement", entry(&DistrictFit::decrement),
                     "Half the squared Newton decrement: what the score could still gain.")
        .def_prop_ro("gradient_norm", entry(&DistrictFit::gradient_norm),
                     "Largest gradient entry in scaled parameters.")
        .def_prop_ro("smallest_eigenvalue", entry(&DistrictFit::smallest_eigenvalue),
                     "Of the error correlation matrix.")
        .def_prop_ro("diverging", entry(&DistrictFit::diverging),
                     "Not certified, with a huge coefficient: it may run to infinity.")
        .def_prop_ro("n_iter", entry(&DistrictFit::n_iter), "RICF sweeps plus Newton steps.")
        .def_prop_ro("n_optima", entry(&DistrictFit::n_optima),
                     "Distinct ends over all starts: certified maxima, and higher likelihoods.")
        .def_prop_ro(
            "more_starts",
            [](const GraphFit& fit) {
                std::vector<int> found;
                for (const DistrictFit& district : fit.fits)
                    found.push_back(static_cast<int>(district.more_starts));
                return found;
            },
            "0: not needed, 1: tried, 2: the district is too large to try them.");

    nb::class_<JointData>(m, "JointData", "Covariance matrices of several conditions.")
        .def(
            "__init__",
            [](JointData* self, const Array<double, 3>& S, const std::vector<double>& weights,
               const Bytes& targets, const std::vector<int>& kinds, bool constant) {
                new (self) JointData(make_conditions(S, weights, targets, kinds, constant));
            },
            "S"_a, "weights"_a, "targets"_a, "kinds"_a, "constant"_a,
            "S: (K, d, d), divisor n. weights: shares of the observations. targets: uint8 (K, d), "
            "the variables that an intervention acted on. kinds: of the interventions, numbered as "
            "in cpp/model/kinds.hpp. constant: S are second moments, (K, d + 1, d + 1), the last "
            "variable being always one.")
        .def_ro("set_objective", &JointData::set_objective,
                "F of what set variables have to themselves, whatever the graph.")
        .def_ro("n_set", &JointData::n_set, "Number of variances that they have there.");

    m.def("fit_graph", &fit_graph, "S"_a, "parents"_a, "spouses"_a, nb::kw_only(),
          "method"_a = "newton", "max_iter"_a = 10, "tol"_a = 1e-6, "n_starts"_a = 1, "seed"_a = 0,
          "look"_a = false, "seconds"_a.none() = nb::none(), "end_at_ask"_a = 0,
          "Maximum likelihood fit of a BAP to the covariance matrix S (divisor n).\n\n"
          "`max_iter` and `tol` are those of method 'ricf', the paper's; `n_starts` and `seed`\n"
          "those of 'newton', and with `look` gross misfits are fitted from further starts, the "
          "best\n"
          "end of which is returned. After so many `seconds`, TimeIsUp is raised. Parents and "
          "spouses are bitsets of shape (d, words).");

    m.def("parameter_uses", &parameter_uses, "kind"_a, "targets"_a,
          "What an intervention makes of each coefficient [head, tail] and each error covariance:\n"
          "0 absent, 1 shared with the other conditions, 2 the condition's own. See\n"
          "cpp/model/kinds.hpp.");

    m.def("sweep_groups", &sweep_groups, "S"_a, "parents"_a, "spouses"_a, "n_sweeps"_a,
          "end_at_ask"_a = 0,
          "Sweeps over the districts of a BAP from B = 0, as cpp/model/group_sweeps.hpp has them;\n"
          "`n_iter` of a district is smaller where there are none, or one failed.");

    m.def("cross_products", &multiply_columns, "X"_a, "Y"_a,
          "X^T Y, with the same bits on every processor.");
    m.def("concordance", &count_concordance, "x"_a, "y"_a,
          "For each row the number of rows in the same order in x and y, minus those in opposite\n"
          "order; x and y are dense ranks, int32 from 0.");
}

}  // namespace bowfree::bindings
