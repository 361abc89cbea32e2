// Fits: one call fits all districts of a graph.
#include <algorithm>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>

#include "bindings/arrays.hpp"
#include "bindings/bindings.hpp"
#include "bindings/calls.hpp"
#include "bindings/data.hpp"
#include "model/likelihood.hpp"

namespace bowfree::bindings {

namespace {

using namespace nb::literals;

/// The fits of all districts of one graph on d nodes.
struct GraphFit {
    int d;
    std::vector<District> districts;
    std::vector<DistrictFit> fits;

    /// A d x d matrix made of the k x columns matrices of the districts.
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

    /// The same in one condition, with its specific parameters.
    auto scatter(std::vector<double> DistrictFit::* matrix, std::vector<double> ConditionFit::* own,
                 int condition) const {
        GraphFit here = *this;
        for (DistrictFit& fit : here.fits)
            for (const ConditionFit& part : fit.condition_fits)
                if (part.condition == condition) fit.*matrix = part.*own;
        return here.scatter(matrix);
    }

    /// The coefficients of the constant; zero if there is none.
    auto intercepts(int condition) const {
        std::vector<double> found(d);
        for (std::size_t c = 0; c < districts.size(); ++c) {
            const District& district = districts[c];
            const int m = district.m();
            if (district.nodes[m - 1] != d) continue;
            const std::vector<double>* B = &fits[c].B;
            for (const ConditionFit& part : fits[c].condition_fits)
                if (part.condition == condition) B = &part.B;
            for (int v = 0; v < district.k; ++v) found[district.nodes[v]] = (*B)[v * m + m - 1];
        }
        return to_numpy(std::move(found), {static_cast<std::size_t>(d)});
    }

    /// The nodes of each district, ascending, and its certificate; see `DistrictFit`.
    using Certificate = std::tuple<std::vector<int>, double, bool, double, double, double, bool,
                                   int, int, double, int, bool>;
    template <class T>
    std::vector<T> column(T DistrictFit::* field) const {
        std::vector<T> values;
        for (const DistrictFit& fit : fits) values.push_back(fit.*field);
        return values;
    }
    std::vector<Certificate> certificates() const {
        std::vector<Certificate> all;
        for (std::size_t c = 0; c < fits.size(); ++c) {
            const DistrictFit& fit = fits[c];
            const std::vector<int>& nodes = districts[c].nodes;
            all.emplace_back(std::vector(nodes.begin(), nodes.begin() + districts[c].k),
                             fit.objective, fit.converged, fit.decrement, fit.gradient_norm,
                             fit.smallest_eigenvalue, fit.diverging, fit.n_iter, fit.n_optima,
                             (fit.canonical - fit.objective) / 2.0,
                             static_cast<int>(fit.more_starts), fit.rounded);
        }
        return all;
    }
};

GraphFit fit_graph(const Data& data, const Bits& parents, const Bits& spouses,
                   const std::string& method, int max_iter, double tol, int n_starts,
                   std::uint64_t seed, bool more_starts, std::optional<double> seconds) {
    const Graph graph = to_graph(parents, spouses);
    const int d = graph.d();
    const JointData conditions = to_conditions(data, d);
    if (method != "newton" && method != "ricf")
        throw std::invalid_argument("method must be 'newton' or 'ricf', got '" + method + "'");
    if (method == "ricf") expect_observational(conditions);

    return interruptibly(seconds, [&](const Stop& stop) {
        GraphFit result{d, {}, {}};
        DistrictFitter fitter(conditions, &stop);
        for (const auto& members : districts(graph)) {
            result.districts.push_back(conditions.district(graph, members));
            const District& district = result.districts.back();
            result.fits.push_back(
                method == "ricf"
                    ? ricf(conditions.conditions[0].S.data(), d, district, max_iter, tol, &stop)
                    : fitter.fit(district, {n_starts, seed, more_starts, true}));
        }
        return result;
    });
}

}  // namespace

void bind_model(nb::module_& m) {
    nb::class_<GraphFit>(m, "GraphFit", "Fits of all districts of a graph.")
        .def_prop_ro(
            "certificates", &GraphFit::certificates,
            "One for each district: nodes, F = log|Omega_C| + tr(Omega_C^-1 E_C) at the estimates, "
            "converged, half the squared Newton decrement (the possible gain of the score), "
            "largest gradient entry in scaled parameters, smallest eigenvalue of the error "
            "correlation matrix, diverging, iterations, number of distinct ends, half of what F "
            "has "
            "fallen below the end of the canonical starts, which scores are made of, further "
            "starts "
            "(0: not needed, 1: tried, 2: too large to try), and whether it is certified with "
            "rounded correlations only.")
        .def_prop_ro("objective",
                     [](const GraphFit& fit) { return fit.column(&DistrictFit::objective); })
        .def_prop_ro("converged",
                     [](const GraphFit& fit) { return fit.column(&DistrictFit::converged); })
        .def_prop_ro(
            "B", [](const GraphFit& fit) { return fit.scatter(&DistrictFit::B); },
            nb::rv_policy::automatic, "(d, d): B[i, j] is the effect of j on i.")
        .def_prop_ro(
            "Omega", [](const GraphFit& fit) { return fit.scatter(&DistrictFit::Omega); },
            nb::rv_policy::automatic, "(d, d): covariance matrix of the errors.")
        .def(
            "B_in",
            [](const GraphFit& fit, int condition) {
                return fit.scatter(&DistrictFit::B, &ConditionFit::B, condition);
            },
            "condition"_a, "B in a condition, which may have specific parameters.")
        .def(
            "Omega_in",
            [](const GraphFit& fit, int condition) {
                return fit.scatter(&DistrictFit::Omega, &ConditionFit::Omega, condition);
            },
            "condition"_a, "Omega in a condition.")
        .def("intercepts_in", &GraphFit::intercepts, "condition"_a,
             "(d,): coefficients of the constant in a condition.");

    m.def("fit_graph", &fit_graph, "S"_a, "parents"_a, "spouses"_a, nb::kw_only(),
          "method"_a = "newton", "max_iter"_a = 10, "tol"_a = 1e-6, "n_starts"_a = 1, "seed"_a = 0,
          "more_starts"_a = false, "seconds"_a.none() = nb::none(),
          "Maximum likelihood fit of a BAP to the covariance matrix S (divisor n).\n\n"
          "`max_iter` and `tol` are those of method 'ricf', the paper's; `n_starts` and `seed`\n"
          "those of 'newton'; with `more_starts`, gross misfits are fitted from further starts.\n"
          "TimeIsUp is raised after `seconds`. Parents and spouses have shape (d, words).");
}

}  // namespace bowfree::bindings
