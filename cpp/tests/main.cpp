// Runs all tests, or those whose name contains the first argument.
#include <chrono>
#include <cstdio>
#include <cstring>
#include <exception>

#include "tests/check.hpp"

int main(int argc, char** argv) {
    using namespace bowfree::tests;
    for (const Test& test : all_tests()) {
        if (argc > 1 && std::strstr(test.name, argv[1]) == nullptr) continue;
        const auto begin = std::chrono::steady_clock::now();
        const int before = n_failures;
        try {
            test.run();
        } catch (const std::exception& error) {
            report(test.name, 0, error.what());
        } catch (...) {
            report(test.name, 0, "an exception that is no std::exception");
        }
        const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
        std::printf("%-60s %s  %.2f s\n", test.name, n_failures == before ? "ok" : "FAILED",
                    seconds.count());
    }
    std::printf("%d failures\n", n_failures);
    return n_failures == 0 ? 0 : 1;
}
