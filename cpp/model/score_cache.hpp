// A cache of district scores, shared by all runs and threads of a search on one data set.
//
// A score is a pure function of its key, so results do not depend on the size of the cache, on
// evictions, or on which thread stored a value. So is the lower bound of a score that needs no fit;
// an entry may contain either or both.
#pragma once

#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <mutex>
#include <thread>
#include <vector>

#include "graph/key.hpp"

namespace bowfree {

/// A hash table of bounded size in independent shards, each with a lock. It grows by doubling up to
/// its bound; then a new entry replaces an old one in the same bucket. Thread-safe.
class ScoreCache {
  public:
    explicit ScoreCache(std::size_t max_bytes)
        : max_buckets_(max_bytes / n_shards / sizeof(Bucket)), shards_(n_shards) {
        for (auto& shard : shards_) shard.buckets.resize(max_buckets_ > 0 ? 1 : 0);
    }

    /// F of a district, the work of its fit (see `DistrictFitter::work`), and a lower bound of F.
    /// What is unknown is NaN.
    struct Entry {
        double objective = std::numeric_limits<double>::quiet_NaN();
        float work = 0.0F;
        float bound = std::numeric_limits<float>::quiet_NaN();

        bool is_fitted() const { return !std::isnan(objective); }
        bool is_bounded() const { return !std::isnan(bound); }
    };

    Entry find(const Key& key) {
        Shard& shard = shards_[key.high % n_shards];
        std::scoped_lock lock(shard.mutex);
        if (shard.buckets.empty()) return {};
        const Bucket& bucket = shard.bucket_of(key);
        const int e = bucket.find(key);
        return e < 0 ? Entry{} : bucket.entries[e];
    }

    /// Stores what is known in `value`; the rest of the entry stays.
    void store(const Key& key, const Entry& value) {
        Shard& shard = shards_[key.high % n_shards];
        std::scoped_lock lock(shard.mutex);
        if (shard.buckets.empty()) return;
        const Bucket& bucket = shard.bucket_of(key);
        if (bucket.size == Bucket::capacity && 2 * shard.buckets.size() <= max_buckets_ &&
            bucket.find(key) < 0)
            shard.grow();
        shard.bucket_of(key).put(key, value);
    }

    /// Bytes held now.
    std::size_t bytes() {
        std::size_t total = 0;
        for (auto& shard : shards_) {
            std::scoped_lock lock(shard.mutex);
            total += shard.buckets.size() * sizeof(Bucket);
        }
        return total;
    }

  private:
    static constexpr std::size_t n_shards = 64;

    struct Bucket {
        static constexpr int capacity = 8;
        Key keys[capacity];
        Entry entries[capacity];
        std::int32_t size = 0, next = 0;  // `next` is overwritten when the bucket is full

        int find(const Key& key) const {
            for (int e = 0; e < size; ++e)
                if (keys[e] == key) return e;
            return -1;
        }

        void put(const Key& key, const Entry& value) {
            int e = find(key);
            if (e < 0) {
                e = size < capacity ? size++ : next++ % capacity;
                keys[e] = key;
                entries[e] = {};
            }
            if (value.is_fitted()) {
                entries[e].objective = value.objective;
                entries[e].work = value.work;
            }
            if (value.is_bounded()) entries[e].bound = value.bound;
        }
    };

    /// Held for a few dozen instructions, so that waiting for it is not worth a system call.
    class SpinLock {
      public:
        void lock() {
            while (taken_.test_and_set(std::memory_order_acquire)) std::this_thread::yield();
        }
        void unlock() { taken_.clear(std::memory_order_release); }

      private:
        std::atomic_flag taken_;
    };

    struct Shard {
        SpinLock mutex;
        std::vector<Bucket> buckets;  // a power of two, or none

        Bucket& bucket_of(const Key& key) { return buckets[key.low & (buckets.size() - 1)]; }

        void grow() {
            std::vector<Bucket> old(2 * buckets.size());
            old.swap(buckets);
            for (const Bucket& bucket : old)
                for (int e = 0; e < bucket.size; ++e)
                    bucket_of(bucket.keys[e]).put(bucket.keys[e], bucket.entries[e]);
        }
    };

    std::size_t max_buckets_;
    std::vector<Shard> shards_;
};

}  // namespace bowfree
