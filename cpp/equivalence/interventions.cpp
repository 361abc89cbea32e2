#include "equivalence/interventions.hpp"

#include <utility>

namespace bowfree {

using field::Element;

std::uint64_t count_parameters(const Graph& graph, const Conditions& conditions) {
    std::uint64_t total = 0;
    const auto count = [&](auto&& use) {
        bool shared = false;
        for (const Condition& condition : conditions) {
            const ParameterUse here = use(condition);
            total += here == ParameterUse::specific;
            shared = shared || here == ParameterUse::shared;
        }
        total += shared;
    };
    for (int v = 0; v < graph.d(); ++v) {
        for_each_node(graph.parents(v), graph.words(), [&](int p) {
            count([&](const Condition& condition) { return condition.coefficient(p, v); });
        });
        count([&](const Condition& condition) { return condition.error(v, v); });
        for_each_node(graph.spouses(v), graph.words(), [&](int u) {
            if (u < v) count([&](const Condition& condition) { return condition.error(u, v); });
        });
    }
    return total;
}

Covariances random_covariances(const Graph& graph, const std::vector<int>& order,
                               const Conditions& conditions, std::uint64_t seed, const Stop& stop) {
    const int d = graph.d();
    const auto at = [d](int i, int j) { return static_cast<std::size_t>(i) * d + j; };
    field::Draw draw(seed);
    const FieldModel shared = random_parameters(graph, draw);
    Covariances Sigma;
    for (const Condition& condition : conditions) {
        FieldModel here = shared;
        const auto change = [&](Element& value, ParameterUse use) {
            if (use == ParameterUse::absent) value = 0;
            if (use == ParameterUse::specific) value = draw();
        };
        for (int v = 0; v < d; ++v) {
            for_each_node(graph.parents(v), graph.words(),
                          [&](int p) { change(here.B[at(v, p)], condition.coefficient(p, v)); });
            change(here.Omega[at(v, v)], condition.error(v, v));
            for_each_node(graph.spouses(v), graph.words(), [&](int u) {
                if (u > v) return;
                change(here.Omega[at(v, u)], condition.error(u, v));
                here.Omega[at(u, v)] = here.Omega[at(v, u)];
            });
        }
        Sigma.push_back(covariance(graph, order, std::move(here), stop));
    }
    return Sigma;
}

RowSolver::RowSolver(int d, std::vector<Element> Sigma)
    : d_(d), Sigma_(std::move(Sigma)), R_(Sigma_.size()) {}

bool RowSolver::solve(int v, const std::vector<int>& parents, const Stop& stop) {
    const int k = static_cast<int>(parents.size());
    if (!field::solve_row(R_.data(), d_, v, parents, M_, b_, stop)) return false;
    // The solution is known up to a factor, which must be the same in all conditions.
    if (k > 0) {
        const Element scale = field::negate(field::inverse(b_[k]));
        for (int i = 0; i < k; ++i) b_[i] = field::multiply(b_[i], scale);
    }
    b_.resize(k);
    v_ = v;
    parents_ = parents;
    Element* own = R_.data() + static_cast<std::size_t>(v) * d_;
    for (int w = 0; w < d_; ++w) {
        field::Sum sum;
        for (int i = 0; i < k; ++i)
            sum.add(b_[i], Sigma_[static_cast<std::size_t>(parents[i]) * d_ + w]);
        const Element fitted = field::negate(sum.value());
        own[w] =
            field::reduce(field::Element{Sigma_[static_cast<std::size_t>(v) * d_ + w]} + fitted);
    }
    return true;
}

Element RowSolver::error(int u) const {
    field::Sum sum;
    for (std::size_t i = 0; i < parents_.size(); ++i)
        sum.add(field::negate(b_[i]), row(u)[parents_[i]]);
    sum.add(row(u)[v_], 1);
    return sum.value();
}

ConditionRows::ConditionRows(int d, const Conditions& conditions, Covariances Sigma)
    : conditions_(conditions), errors_(d) {
    for (std::vector<Element>& matrix : Sigma) solvers_.emplace_back(d, std::move(matrix));
}

bool ConditionRows::agree(Shared& shared, Element value, int condition) {
    if (shared.from < 0) shared = {value, condition};
    return shared.value == value;
}

ConditionsTest ConditionRows::add_node(int v, const std::vector<int>& parents,
                                       const std::vector<int>& before, const std::uint8_t* adjacent,
                                       const Stop& stop) {
    coefficients_.assign(parents.size(), {});
    for (int u : before) errors_[u] = {};
    errors_[v] = {};
    for (std::size_t e = 0; e < conditions_.size(); ++e) {
        const Condition& condition = conditions_[e];
        const int here = static_cast<int>(e);
        RowSolver& solver = solvers_[e];
        if (!solver.solve(v, condition.cuts(v) ? no_parents_ : parents, stop))
            return {Inclusion::singular};
        for (std::size_t i = 0; i < solver.b().size(); ++i)
            if (condition.coefficient(parents[i], v) == ParameterUse::shared &&
                !agree(coefficients_[i], solver.b()[i], here))
                return {Inclusion::no, Conflict::coefficient,
                        here,          coefficients_[i].from,
                        parents[i],    v};
        for (int u : before) {
            // The error of a parent is uncorrelated by construction, in all conditions.
            const ParameterUse use = adjacent[u] ? condition.error(u, v) : ParameterUse::absent;
            if (use == ParameterUse::specific) continue;
            const Element error = solver.error(u);
            if (use == ParameterUse::absent && error != 0)
                return {Inclusion::no, Conflict::correlated, here, -1, u, v};
            if (use == ParameterUse::shared && !agree(errors_[u], error, here))
                return {Inclusion::no, Conflict::error, here, errors_[u].from, u, v};
        }
        if (condition.error(v, v) == ParameterUse::shared &&
            !agree(errors_[v], solver.error(v), here))
            return {Inclusion::no, Conflict::error, here, errors_[v].from, v, v};
    }
    return {};
}

namespace {

std::vector<std::uint8_t> adjacency(const Graph& graph) {
    const int d = graph.d();
    std::vector<std::uint8_t> matrix(static_cast<std::size_t>(d) * d);
    for (int i = 0; i < d; ++i)
        for (int j = 0; j < d; ++j)
            matrix[static_cast<std::size_t>(i) * d + j] = graph.adjacent(i, j);
    return matrix;
}

}  // namespace

ConditionsTest produces(const Graph& H, const std::vector<int>& order, const Conditions& conditions,
                        const Covariances& Sigma, const Stop& stop) {
    const int d = H.d();
    ConditionRows rows(d, conditions, Sigma);
    const std::vector<std::uint8_t> adjacent = adjacency(H);
    std::vector<int> before, parents;
    for (int v : order) {
        stop.check();
        list_nodes(H.parents(v), H.words(), parents);
        const ConditionsTest test = rows.add_node(
            v, parents, before, adjacent.data() + static_cast<std::size_t>(v) * d, stop);
        if (test.answer != Inclusion::yes) return test;
        before.push_back(v);
    }
    return {};
}

ConditionsTest inside(const Graph& G, const std::vector<int>& order_G, const Graph& H,
                      const std::vector<int>& order_H, const Conditions& conditions,
                      std::uint64_t seed, const Stop& stop) {
    int confirmed = 0;
    for (int draw = 0; draw < max_draws; ++draw) {
        const Covariances Sigma =
            random_covariances(G, order_G, conditions, draw_seed(seed, draw), stop);
        const ConditionsTest test = produces(H, order_H, conditions, Sigma, stop);
        if (test.answer == Inclusion::no) return test;
        if (test.answer == Inclusion::yes && ++confirmed == 2) return test;
    }
    throw NoRegularDraw();
}

ConditionsTest equal_models(const Graph& G, const std::vector<int>& order_G, const Graph& H,
                            const std::vector<int>& order_H, const Conditions& conditions,
                            std::uint64_t seed, const Stop& stop) {
    const ConditionsTest test = inside(G, order_G, H, order_H, conditions, seed, stop);
    if (test.answer == Inclusion::yes &&
        count_parameters(G, conditions) != count_parameters(H, conditions))
        return {Inclusion::no, Conflict::dimension};
    return test;
}

}  // namespace bowfree
