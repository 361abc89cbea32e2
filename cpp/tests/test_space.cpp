// Random walks and random numbers.
#include "tests/check.hpp"
#include "tests/examples.hpp"

using namespace bowfree;
using namespace bowfree::tests;

TEST(walks_can_be_stopped) {
    Stop stop;
    stop.request();
    const Rules rules;
    RandomWalk walk(Graph(5), rules, WalkStep::symmetric, Rng(1));
    CHECK_THROWS(walk.advance(1, stop), Stopped);
}

TEST(random_numbers_are_those_of_all_platforms) {
    Rng rng(1, 2);
    const std::uint64_t first = rng.next();
    CHECK_EQUAL(Rng(1, 2).next(), first);
    CHECK(Rng(1, 3).next() != first);
    Rng copy(rng.state());
    CHECK_EQUAL(copy.next(), rng.next());
    for (int k = 0; k < 1000; ++k) {
        const int draw = rng.below(7);
        CHECK(0 <= draw && draw < 7);
        const double x = rng.uniform();
        CHECK(0.0 <= x && x < 1.0);
    }
}
