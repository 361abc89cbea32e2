#include "equivalence/splitting.hpp"

#include <algorithm>
#include <map>
#include <type_traits>

#include "equivalence/classes.hpp"
#include "threads.hpp"

namespace bowfree {

using field::Element;

namespace {

/// The parameters of one member at a point Sigma of the common model.
struct MemberParameters {
    std::vector<int> order;
    std::vector<std::vector<int>> parents;
    std::vector<std::vector<Element>> b;                          // of the parents
    std::vector<std::pair<std::pair<int, int>, Element>> errors;  // variances too

    MemberParameters(const Graph& member, const std::vector<Element>& Sigma, const Stop& stop)
        : order(topological_order(member)), parents(member.d()), b(member.d()) {
        RowSolver solver(member.d(), Sigma.data(), true);
        for (std::size_t step = 0; step < order.size(); ++step) {
            const int v = order[step];
            list_nodes(member.parents(v), member.words(), parents[v]);
            if (!solver.solve(v, parents[v], stop)) throw SingularDraw{};
            solver.keep();
            for (std::size_t i = 0; i < parents[v].size(); ++i)
                b[v].push_back(field::negate(solver.entry(i)));
            errors.push_back({{v, v}, solver.error(v)});
            for (std::size_t before = 0; before < step; ++before)
                if (member.bidirected(order[before], v))
                    errors.push_back({{order[before], v}, solver.error(order[before])});
        }
    }

    /// y'E for E = (I - B)^-1, without the edges that the condition removes, if one is given.
    std::vector<Element> reach(std::vector<Element> y, const Condition* condition = nullptr) const {
        for (std::size_t step = order.size(); step-- > 0;) {
            const int v = order[step];
            if (condition != nullptr && condition->cuts(v)) continue;
            for (std::size_t i = 0; i < parents[v].size(); ++i) {
                Element& up = y[parents[v][i]];
                up = field::reduce(up + field::multiply(b[v][i], y[v]));
            }
        }
        return y;
    }
};

/// Numbers that are equal for members that are equivalent under an additional condition.
///
/// All members have the same model, so one random Sigma of it serves them all, and each member has
/// its own parameters at that point. Members are equivalent under an additional condition exactly if
/// these parameters permit the same matrices in it.
///
///   - perfect: one matrix, except for the variances of the targets, which are set to 1. The number
///     is y' Sigma_e z with random y and z, so that equal numbers mean equal matrices.
///   - other kinds: a surface through Sigma, with a coordinate for each specific parameter. Equal
///     surfaces have equal tangent spaces at Sigma, spanned by
///
///         E_t Sigma_p' + Sigma_p E_t'   for a coefficient of p -> t,   E = (I - B)^-1,
///         E_u E_v' + E_v E_u'           for an error covariance, E_v E_v' for a variance.
///
///     The number is y_0' P(S) z_0 for a projection P onto that space, along the matrices on which
///     k random functionals y_i' (.) z_i vanish, and some S. It distinguishes tangent spaces;
///     members with equal numbers are compared by the exact test.
class Fingerprints {
  public:
    Fingerprints(const Graph& graph, std::uint64_t seed, const Stop& stop)
        : d_(graph.d()),
          Sigma_(random_covariances(graph, topological_order(graph), one_or_more({}, d_), seed,
                                    stop)[0]),
          draw_(~seed) {
        // No tangent space has more dimensions than a graph has parameters.
        functionals_.resize(1 + graph.d() + count_edges(graph));
        for (Functional& next : functionals_) {
            next = {std::vector<Element>(d_), std::vector<Element>(d_), {}, {}, draw_()};
            for (int v = 0; v < d_; ++v) next.y[v] = draw_(), next.z[v] = draw_();
            next.Sigma_y = times(next.y);
            next.Sigma_z = times(next.z);
        }
    }

    /// Writes the fingerprints of one member, one for each condition.
    void of(const Graph& member, const std::vector<Condition>& additions, Element* out,
            const Stop& stop) const {
        const MemberParameters parameters(member, Sigma_, stop);
        for (std::size_t c = 0; c < additions.size(); ++c)
            out[c] = additions[c].kind == InterventionKind::perfect
                         ? cut(parameters, additions[c])
                         : tangent(parameters, additions[c], stop);
    }

  private:
    struct Functional {
        std::vector<Element> y, z, Sigma_y, Sigma_z;
        Element value = 0;  ///< of the matrix S that is projected
    };

    std::vector<Element> times(const std::vector<Element>& y) const {
        std::vector<Element> product(d_);
        for (int v = 0; v < d_; ++v) {
            field::Sum sum;
            for (int w = 0; w < d_; ++w)
                sum.add(Sigma_[static_cast<std::size_t>(v) * d_ + w], y[w]);
            product[v] = sum.value();
        }
        return product;
    }

    Element cut(const MemberParameters& member, const Condition& condition) const {
        const std::vector<Element> g = member.reach(functionals_[0].y, &condition);
        const std::vector<Element> h = member.reach(functionals_[0].z, &condition);
        field::Sum sum;
        for (const auto& [pair, error] : member.errors) {
            const auto [u, v] = pair;
            if (u == v) {
                const Element variance = condition.cuts(v) ? Element{1} : error;
                sum.add(field::multiply(g[v], h[v]), variance);
            } else if (!condition.cuts(u) && !condition.cuts(v)) {
                sum.add(field::multiply(g[u], h[v]), error);
                sum.add(field::multiply(g[v], h[u]), error);
            }
        }
        return sum.value();
    }

    Element tangent(const MemberParameters& member, const Condition& condition,
                    const Stop& stop) const {
        // Coefficients (parent, child) and error covariances that are specific.
        std::vector<std::pair<int, int>> coefficients, errors;
        for (int v : member.order)
            for (int p : member.parents[v])
                if (condition.coefficient(p, v) == ParameterUse::specific)
                    coefficients.emplace_back(p, v);
        for (const auto& [pair, error] : member.errors)
            if (condition.error(pair.first, pair.second) == ParameterUse::specific)
                errors.push_back(pair);
        const std::size_t k = coefficients.size() + errors.size();
        const auto row = [&](const Functional& f, Element* out) {
            const std::vector<Element> g = member.reach(f.y), h = member.reach(f.z);
            for (const auto& [p, v] : coefficients)
                *out++ = field::reduce(field::multiply(g[v], f.Sigma_z[p]) +
                                       field::multiply(f.Sigma_y[p], h[v]));
            for (const auto& [u, v] : errors)
                *out++ =
                    u == v
                        ? field::multiply(g[v], h[v])
                        : field::reduce(field::multiply(g[u], h[v]) + field::multiply(g[v], h[u]));
        };
        std::vector<Element> M(k * (k + 1)), x(k + 1), u(k);
        for (std::size_t i = 0; i < k; ++i) {
            row(functionals_[i + 1], M.data() + i * (k + 1));
            M[i * (k + 1) + k] = functionals_[i + 1].value;
        }
        if (!field::null_vector(M.data(), static_cast<int>(k), x.data(), stop))
            throw SingularDraw{};
        row(functionals_[0], u.data());
        field::Sum sum;
        for (std::size_t j = 0; j < k; ++j) sum.add(u[j], x[j]);
        return field::multiply(sum.value(), field::inverse(x[k]));
    }

    int d_;
    std::vector<Element> Sigma_;
    field::Draw draw_;
    std::vector<Functional> functionals_;
};

constexpr std::size_t block = 256;  // members per job

/// Two fingerprints of each member for each addition, members x additions.
using Prints = std::vector<std::pair<Element, Element>>;

Prints fingerprints(const std::vector<Graph>& members, const std::vector<Condition>& additions,
                    std::uint64_t seed, int n_threads, const Stop& stop) {
    const std::size_t n = members.size(), m = additions.size();
    const Fingerprints first(members[0], draw_seed(seed, 0), stop);
    const Fingerprints second(members[0], draw_seed(seed, 1), stop);
    Prints prints(n * m);
    run_jobs(static_cast<int>((n + block - 1) / block), n_threads, stop,
             [&](int job, const Stop& its_stop) {
                 const std::size_t begin = job * block, end = std::min(n, begin + block);
                 std::vector<Element> one(m), other(m);
                 for (std::size_t i = begin; i < end; ++i) {
                     its_stop.check();
                     first.of(members[i], additions, one.data(), its_stop);
                     second.of(members[i], additions, other.data(), its_stop);
                     for (std::size_t c = 0; c < m; ++c) prints[i * m + c] = {one[c], other[c]};
                 }
             });
    return prints;
}

/// Sorts members with equal fingerprints into classes by the exact test: each member is compared with
/// the first member of each class. Returns the numbers of the classes, from 0.
std::vector<int> split_by_tests(const std::vector<const Graph*>& members,
                                const Conditions& conditions, std::uint64_t seed,
                                const Stop& stop) {
    std::vector<InclusionOracle> firsts;
    std::vector<int> classes;
    for (const Graph* member : members) {
        stop.check();
        const std::vector<int> order = topological_order(*member);
        const auto found = std::ranges::find_if(firsts, [&](InclusionOracle& first) {
            return first.equal(*member, order, stop).answer == Inclusion::yes;
        });
        classes.push_back(static_cast<int>(found - firsts.begin()));
        if (found == firsts.end()) firsts.emplace_back(*member, conditions, seed);
    }
    return classes;
}

/// Numbers classes in the order of their first members; `key(i)` identifies the class of member i.
template <class Key>
void number_classes(std::size_t n, Key&& key, std::int32_t* classes, std::size_t stride) {
    std::map<std::decay_t<decltype(key(std::size_t{}))>, std::int32_t> numbers;
    for (std::size_t i = 0; i < n; ++i)
        classes[i * stride] =
            numbers.try_emplace(key(i), static_cast<std::int32_t>(numbers.size())).first->second;
}

/// Sorts the members under one addition, by the exact test among those with equal fingerprints.
template <class Print>
void split_under(const std::vector<Graph>& members, const Conditions& known,
                 const Condition& addition, Print&& print, std::uint64_t seed,
                 std::int32_t* classes, std::size_t stride, const Stop& stop) {
    std::map<std::pair<Element, Element>, std::vector<std::size_t>> groups;
    for (std::size_t i = 0; i < members.size(); ++i) groups[print(i)].push_back(i);
    Conditions conditions = known;
    conditions.push_back(addition);
    std::vector<std::pair<std::size_t, int>> keys(members.size());
    std::size_t number = 0;
    for (const auto& [_, group] : groups) {
        std::vector<const Graph*> alike;
        for (std::size_t i : group) alike.push_back(&members[i]);
        const std::vector<int> within = split_by_tests(alike, conditions, seed, stop);
        for (std::size_t k = 0; k < group.size(); ++k) keys[group[k]] = {number, within[k]};
        ++number;
    }
    number_classes(members.size(), [&](std::size_t i) { return keys[i]; }, classes, stride);
}

}  // namespace

std::vector<std::int32_t> split_members(const Graph& graph,
                                        const std::vector<std::pair<int, int>>& edges,
                                        const Edge* kinds, std::size_t n_members,
                                        const Conditions& known,
                                        const std::vector<Condition>& additions, std::uint64_t seed,
                                        int n_threads, const Stop& stop) {
    std::vector<Graph> members;
    for (std::size_t i = 0; i < n_members; ++i) {
        stop.check();
        members.push_back(graph_of_kinds(graph.d(), edges, kinds + i * edges.size()));
    }
    if (members.empty()) return {};
    // Fingerprints require a condition without targets.
    const bool has_untargeted = std::ranges::any_of(
        known, [](const Condition& condition) { return !condition.has_targets(); });
    const std::size_t m = additions.size();
    for (int draw = 0; draw < max_draws; ++draw) {
        const std::uint64_t its_seed = draw_seed(seed, 2 * draw);
        try {
            Prints prints;
            if (has_untargeted)
                prints = fingerprints(members, additions, its_seed, n_threads, stop);
            const auto print = [&](std::size_t i, std::size_t c) {
                return has_untargeted ? prints[i * m + c] : std::pair<Element, Element>();
            };
            std::vector<std::int32_t> classes(n_members * m);
            run_jobs(static_cast<int>(m), n_threads, stop, [&](int job, const Stop& its_stop) {
                const auto c = static_cast<std::size_t>(job);
                const auto of = [&](std::size_t i) { return print(i, c); };
                if (has_untargeted && additions[c].kind == InterventionKind::perfect)
                    number_classes(n_members, of, classes.data() + c, m);
                else
                    split_under(members, known, additions[c], of, its_seed, classes.data() + c, m,
                                its_stop);
            });
            return classes;
        } catch (const SingularDraw&) {
        }
    }
    throw NoRegularDraw();
}

}  // namespace bowfree
