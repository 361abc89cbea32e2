#include "equivalence/atlas.hpp"

#include <algorithm>
#include <numeric>

#include "threads.hpp"

namespace bowfree {

namespace {

/// The relabelings of d nodes after which the conditions are the same, in any order.
std::vector<std::vector<int>> symmetries(int d, const Conditions& conditions) {
    std::vector<std::vector<int>> found;
    std::vector<int> label(d);
    std::iota(label.begin(), label.end(), 0);
    do {
        Conditions image;
        for (const Condition& condition : conditions) {
            image.push_back({condition.kind, std::vector<Word>(words_for(d))});
            for (int v = 0; v < d; ++v)
                if (condition.is_target(v)) insert(image.back().targets.data(), label[v]);
        }
        if (std::is_permutation(image.begin(), image.end(), conditions.begin()))
            found.push_back(label);
    } while (std::ranges::next_permutation(label).found);
    return found;
}

/// All pairs (i, j), i < j, in lexicographic order.
std::vector<std::pair<int, int>> all_pairs(int d) {
    std::vector<std::pair<int, int>> pairs;
    for (int i = 0; i < d; ++i)
        for (int j = i + 1; j < d; ++j) pairs.emplace_back(i, j);
    return pairs;
}

/// One labeled skeleton per isomorphism class, with the size of its orbit.
std::vector<SkeletonCounts> unlabeled_skeletons(int d, const Conditions& conditions,
                                                const Stop& stop) {
    const auto pairs = all_pairs(d);
    const std::vector<Relabeling> all = relabelings(d, conditions, stop);
    std::vector<SkeletonCounts> found(all.size());
    for (std::size_t skeleton = 0; skeleton < all.size(); ++skeleton) {
        SkeletonCounts& entry = found[all[skeleton].first];
        if (++entry.orbit > 1) continue;
        for (std::size_t e = 0; e < pairs.size(); ++e)
            if (skeleton >> e & 1) entry.edges.push_back(pairs[e]);
    }
    std::erase_if(found, [](const SkeletonCounts& entry) { return entry.orbit == 0; });
    return found;
}

/// Sorts all BAPs of one skeleton. The code of a BAP has a digit in base 3 for each edge: the index
/// of its kind in `edge_kinds`.
void sort_skeleton(int d, const ClassOptions& options, SkeletonCounts& entry, const Stop& stop) {
    const std::size_t m = entry.edges.size();
    std::vector<std::uint64_t> weight(m + 1, 1);
    for (std::size_t e = 0; e < m; ++e) weight[e + 1] = 3 * weight[e];
    const auto digit_of = [](Edge kind) {
        return static_cast<std::uint64_t>(std::ranges::find(edge_kinds, kind) -
                                          std::begin(edge_kinds));
    };
    const auto code_of = [&](const Edge* kinds) {
        std::uint64_t code = 0;
        for (std::size_t e = 0; e < m; ++e) code += weight[e] * digit_of(kinds[e]);
        return code;
    };
    enum : std::uint8_t { unknown, listed, reached };
    std::vector<std::uint8_t> state(weight[m]);
    EdgeKinds kinds(m);
    for (std::uint64_t code = 0; code < weight[m]; ++code) {
        if (state[code] != unknown) continue;
        for (std::size_t e = 0; e < m; ++e) kinds[e] = edge_kinds[code / weight[e] % 3];
        const Graph graph = graph_of_kinds(d, entry.edges, kinds.data());
        if (topological_order(graph).empty()) continue;
        const ClassMembers members = exact_class(graph, options, stop);
        if (!members.complete) throw Stopped{};
        for (std::uint64_t i = 0; i < members.n_members; ++i)
            state[code_of(members.kinds.data() + i * m)] = listed;
        ++entry.n_classes;
        entry.n_baps += members.n_members;
        entry.largest_class = std::max(entry.largest_class, members.n_members);
        // Only this class is `listed` now: find the part connected with its first member.
        std::uint64_t connected = 1;
        std::vector<std::uint64_t> stack{code};
        state[code] = reached;
        while (!stack.empty()) {
            const std::uint64_t from = stack.back();
            stack.pop_back();
            for (std::size_t e = 0; e < m; ++e)
                for (std::uint64_t digit = 0; digit < 3; ++digit) {
                    const std::uint64_t to =
                        from - from / weight[e] % 3 * weight[e] + digit * weight[e];
                    if (state[to] != listed) continue;
                    state[to] = reached;
                    stack.push_back(to);
                    ++connected;
                }
        }
        if (connected < members.n_members) {
            if (entry.n_split++ == 0) entry.split_example = kinds;
            for (std::uint64_t i = 0; i < members.n_members; ++i)
                state[code_of(members.kinds.data() + i * m)] = reached;
        }
    }
}

}  // namespace

std::uint32_t skeleton_bits(const Graph& graph) {
    std::uint32_t bits = 0, bit = 1;
    for (int i = 0; i < graph.d(); ++i)
        for (int j = i + 1; j < graph.d(); ++j, bit <<= 1)
            if (graph.adjacent(i, j)) bits |= bit;
    return bits;
}

std::vector<Relabeling> relabelings(int d, const Conditions& conditions, const Stop& stop) {
    const auto pairs = all_pairs(d);
    std::vector<std::vector<int>> number(d, std::vector<int>(d));
    for (std::size_t e = 0; e < pairs.size(); ++e) {
        const auto [i, j] = pairs[e];
        number[i][j] = number[j][i] = static_cast<int>(e);
    }
    const std::vector<std::vector<int>> labels = symmetries(d, conditions);
    std::vector<Relabeling> found(std::size_t{1} << pairs.size());
    for (std::uint32_t skeleton = 0; skeleton < found.size(); ++skeleton) {
        if (!found[skeleton].label.empty()) continue;
        stop.check();
        for (const std::vector<int>& label : labels) {
            std::uint32_t image = 0;
            for (std::size_t e = 0; e < pairs.size(); ++e)
                if (skeleton >> e & 1)
                    image |= 1U << number[label[pairs[e].first]][label[pairs[e].second]];
            auto& [first, back] = found[image];
            if (!back.empty()) continue;
            first = skeleton;
            back.resize(d);
            for (int v = 0; v < d; ++v) back[label[v]] = v;
        }
    }
    return found;
}

std::vector<SkeletonCounts> atlas(int d, const Conditions& conditions, std::uint64_t seed,
                                  int n_threads, const Stop& stop) {
    std::vector<SkeletonCounts> entries = unlabeled_skeletons(d, conditions, stop);
    ClassOptions options;
    options.seed = seed;
    options.conditions = conditions;
    std::ranges::stable_sort(
        entries, [](const auto& a, const auto& b) { return a.edges.size() < b.edges.size(); });
    const int n = static_cast<int>(entries.size());
    run_jobs(n, n_threads, stop, [&](int job, const Stop& its_stop) {
        // The skeletons with most edges take longest and come first.
        sort_skeleton(d, options, entries[n - 1 - job], its_stop);
    });
    return entries;
}

}  // namespace bowfree
