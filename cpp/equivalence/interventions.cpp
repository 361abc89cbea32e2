#include "equivalence/interventions.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "equivalence/classes.hpp"
#include "threads.hpp"

namespace bowfree {

using field::Element;

Use Condition::coefficient(int p, int v) const {
    switch (kind) {
        case Kind::perfect:
            return is_target(v) ? Use::absent : Use::shared;
        case Kind::mechanism:
            return is_target(v) ? Use::own : Use::shared;
        case Kind::activity:
            return is_target(p) ? Use::own : Use::shared;
        case Kind::noise:
            break;
    }
    return Use::shared;
}

Use Condition::error(int u, int v) const {
    const bool touched = is_target(u) || is_target(v);
    switch (kind) {
        case Kind::perfect:
            return !touched ? Use::shared : u == v ? Use::own : Use::absent;
        case Kind::mechanism:
            return touched ? Use::own : Use::shared;
        case Kind::activity:
            break;
        case Kind::noise:
            return touched && u == v ? Use::own : Use::shared;
    }
    return Use::shared;
}

std::uint64_t count_parameters(const Graph& graph, const Conditions& conditions) {
    std::uint64_t total = 0;
    const auto count = [&](auto&& use) {
        bool shared = false;
        for (const Condition& condition : conditions) {
            const Use here = use(condition);
            total += here == Use::own;
            shared = shared || here == Use::shared;
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
    const Parameters shared = random_parameters(graph, draw);
    Covariances Sigma;
    for (const Condition& condition : conditions) {
        Parameters here = shared;
        const auto change = [&](Element& value, Use use) {
            if (use == Use::absent) value = 0;
            if (use == Use::own) value = draw();
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
        Sigma.push_back(covariance(graph, order, here, stop));
    }
    return Sigma;
}

// --- one condition, and all of them ---

RowSolver::RowSolver(int d, std::vector<Element> Sigma)
    : d_(d), Sigma_(std::move(Sigma)), R_(Sigma_.size()) {}

bool RowSolver::solve(int v, const std::vector<int>& parents, const Stop& stop) {
    const int k = static_cast<int>(parents.size());
    M_.resize(static_cast<std::size_t>(k) * (k + 1));
    b_.resize(k + 1);
    for (int i = 0; i < k; ++i) {
        for (int j = 0; j < k; ++j) M_[i * (k + 1) + j] = row(parents[i])[parents[j]];
        M_[i * (k + 1) + k] = row(parents[i])[v];
    }
    if (!field::null_vector(M_.data(), k, b_.data(), stop)) return false;
    // The solution has a factor of its own, and conditions are to be compared.
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

ConditionsTest ConditionRows::place(int v, const std::vector<int>& parents,
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
            if (condition.coefficient(parents[i], v) == Use::shared &&
                !agree(coefficients_[i], solver.b()[i], here))
                return {Inclusion::no,         Clash::coefficient, here,
                        coefficients_[i].from, parents[i],         v};
        for (int u : before) {
            // A parent is uncorrelated by construction, in all conditions.
            const Use use = adjacent[u] ? condition.error(u, v) : Use::absent;
            if (use == Use::own) continue;
            const Element error = solver.error(u);
            if (use == Use::absent && error != 0)
                return {Inclusion::no, Clash::correlated, here, -1, u, v};
            if (use == Use::shared && !agree(errors_[u], error, here))
                return {Inclusion::no, Clash::error, here, errors_[u].from, u, v};
        }
        if (condition.error(v, v) == Use::shared && !agree(errors_[v], solver.error(v), here))
            return {Inclusion::no, Clash::error, here, errors_[v].from, v, v};
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

std::vector<int> parents_of(const Graph& graph, int v) {
    std::vector<int> parents;
    for_each_node(graph.parents(v), graph.words(), [&](int p) { parents.push_back(p); });
    return parents;
}

}  // namespace

ConditionsTest produces(const Graph& H, const std::vector<int>& order, const Conditions& conditions,
                        const Covariances& Sigma, const Stop& stop) {
    const int d = H.d();
    ConditionRows rows(d, conditions, Sigma);
    const std::vector<std::uint8_t> adjacent = adjacency(H);
    std::vector<int> before;
    for (int v : order) {
        stop.check();
        const ConditionsTest test = rows.place(
            v, parents_of(H, v), before, adjacent.data() + static_cast<std::size_t>(v) * d, stop);
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
        return {Inclusion::no, Clash::dimension};
    return test;
}

// --- members of a class, sorted by what more conditions would say ---

namespace {

/// Thrown when a system is singular at the point drawn; another draw is tried.
struct SingularDraw {};

/// What a perfect intervention would make of Sigma, condensed to one number: y' Sigma z with random
/// y and z. All members have one model, so that one Sigma, drawn from it, serves them all, and each
/// has its own parameters at that point. Two members are equivalent under the intervention exactly
/// if these lead to the same interventional Sigma; the target's own variance is set to 1.
class Fingerprints {
  public:
    Fingerprints(const Graph& graph, std::uint64_t seed, const Stop& stop)
        : d_(graph.d()),
          Sigma_(random_covariance(graph, topological_order(graph), seed, stop)),
          y_(d_),
          z_(d_) {
        field::Draw draw(~seed);
        for (int v = 0; v < d_; ++v) y_[v] = draw(), z_[v] = draw();
    }

    /// Writes those of one member, an entry for each condition.
    void of(const Graph& member, const std::vector<Condition>& additions, Element* out,
            const Stop& stop) const {
        const std::vector<int> order = topological_order(member);
        RowSolver solver(d_, Sigma_);
        std::vector<std::vector<int>> parents(d_);
        std::vector<std::vector<Element>> b(d_);
        std::vector<std::pair<std::pair<int, int>, Element>> errors;
        for (std::size_t step = 0; step < order.size(); ++step) {
            const int v = order[step];
            parents[v] = parents_of(member, v);
            if (!solver.solve(v, parents[v], stop)) throw SingularDraw{};
            b[v] = solver.b();
            errors.push_back({{v, v}, solver.error(v)});
            for (std::size_t before = 0; before < step; ++before)
                if (member.bidirected(order[before], v))
                    errors.push_back({{order[before], v}, solver.error(order[before])});
        }
        for (std::size_t c = 0; c < additions.size(); ++c) {
            const Condition& condition = additions[c];
            // E'y and E'z, E = (I - B)^-1: what reaches a node is handed on to its parents.
            std::vector<Element> g = y_, h = z_;
            for (std::size_t step = order.size(); step-- > 0;) {
                const int v = order[step];
                if (condition.cuts(v)) continue;
                for (std::size_t i = 0; i < parents[v].size(); ++i) {
                    const int p = parents[v][i];
                    g[p] = field::reduce(g[p] + field::multiply(b[v][i], g[v]));
                    h[p] = field::reduce(h[p] + field::multiply(b[v][i], h[v]));
                }
            }
            field::Sum sum;
            for (const auto& [pair, error] : errors) {
                const auto [u, v] = pair;
                if (u == v) {
                    const Element scale = condition.cuts(v) ? Element{1} : error;
                    sum.add(field::multiply(g[v], h[v]), scale);
                } else if (!condition.cuts(u) && !condition.cuts(v)) {
                    sum.add(field::multiply(g[u], h[v]), error);
                    sum.add(field::multiply(g[v], h[u]), error);
                }
            }
            out[c] = sum.value();
        }
    }

  private:
    int d_;
    std::vector<Element> Sigma_, y_, z_;
};

constexpr std::size_t block = 256;  // members per job

std::vector<std::int32_t> split_by_fingerprints(const std::vector<Graph>& members,
                                                const std::vector<Condition>& additions,
                                                std::uint64_t seed, int n_threads,
                                                const Stop& stop) {
    const std::size_t n = members.size(), m = additions.size();
    const Fingerprints first(members[0], draw_seed(seed, 0), stop);
    const Fingerprints second(members[0], draw_seed(seed, 1), stop);
    std::vector<Element> prints(2 * n * m);
    run_jobs(static_cast<int>((n + block - 1) / block), n_threads, stop,
             [&](int job, const Stop& its_stop) {
                 const std::size_t begin = job * block, end = std::min(n, begin + block);
                 for (std::size_t i = begin; i < end; ++i) {
                     its_stop.check();
                     first.of(members[i], additions, prints.data() + 2 * i * m, its_stop);
                     second.of(members[i], additions, prints.data() + (2 * i + 1) * m, its_stop);
                 }
             });
    std::vector<std::int32_t> classes(n * m);
    for (std::size_t c = 0; c < m; ++c) {
        std::map<std::pair<Element, Element>, std::int32_t> numbers;
        stop.check();
        for (std::size_t i = 0; i < n; ++i) {
            const std::pair print(prints[2 * i * m + c], prints[(2 * i + 1) * m + c]);
            const auto next = static_cast<std::int32_t>(numbers.size());
            classes[i * m + c] = numbers.try_emplace(print, next).first->second;
        }
    }
    return classes;
}

/// For any kind: every member is compared with one of each class found so far.
void split_by_tests(const std::vector<Graph>& members, const Conditions& conditions,
                    std::uint64_t seed, std::int32_t* classes, std::size_t stride,
                    const Stop& stop) {
    const std::size_t n = members.size();
    std::vector<std::vector<int>> orders;
    std::vector<std::uint64_t> dimension;
    for (const Graph& member : members) {
        stop.check();
        orders.push_back(topological_order(member));
        dimension.push_back(count_parameters(member, conditions));
    }
    std::vector<std::size_t> open(n), left;
    for (std::size_t i = 0; i < n; ++i) open[i] = i;
    for (std::int32_t number = 0; !open.empty(); ++number) {
        const std::size_t head = open[0];
        Covariances Sigma[2];
        for (int draw = 0; draw < 2; ++draw)
            Sigma[draw] = random_covariances(members[head], orders[head], conditions,
                                             draw_seed(seed, draw), stop);
        left.clear();
        for (std::size_t i : open) {
            stop.check();
            bool same = dimension[i] == dimension[head];
            for (int draw = 0; draw < 2 && same; ++draw) {
                const ConditionsTest test =
                    produces(members[i], orders[i], conditions, Sigma[draw], stop);
                if (test.answer == Inclusion::singular) throw SingularDraw{};
                same = test.answer == Inclusion::yes;
            }
            if (same)
                classes[i * stride] = number;
            else
                left.push_back(i);
        }
        std::swap(open, left);
    }
}

}  // namespace

std::vector<std::int32_t> split_members(const Graph& graph,
                                        const std::vector<std::pair<int, int>>& edges,
                                        const Edge* marks, std::size_t n_members,
                                        const Conditions& known,
                                        const std::vector<Condition>& additions, std::uint64_t seed,
                                        int n_threads, const Stop& stop) {
    std::vector<Graph> members;
    for (std::size_t i = 0; i < n_members; ++i) {
        stop.check();
        members.push_back(marked_graph(graph.d(), edges, marks + i * edges.size()));
    }
    if (members.empty()) return {};
    const auto no_targets = [](const Condition& condition) {
        return std::all_of(condition.targets.begin(), condition.targets.end(),
                           [](Word word) { return word == 0; });
    };
    const bool quick = std::any_of(known.begin(), known.end(), no_targets) &&
                       std::all_of(additions.begin(), additions.end(), [](const Condition& added) {
                           return added.kind == Kind::perfect;
                       });
    for (int draw = 0; draw < max_draws; ++draw) {
        const std::uint64_t its_seed = draw_seed(seed, 2 * draw);
        try {
            if (quick) return split_by_fingerprints(members, additions, its_seed, n_threads, stop);
            const std::size_t m = additions.size();
            std::vector<std::int32_t> classes(n_members * m);
            run_jobs(static_cast<int>(m), n_threads, stop, [&](int job, const Stop& its_stop) {
                Conditions conditions = known;
                conditions.push_back(additions[job]);
                split_by_tests(members, conditions, its_seed, classes.data() + job, m, its_stop);
            });
            return classes;
        } catch (const SingularDraw&) {
        }
    }
    throw NoRegularDraw();
}

}  // namespace bowfree
