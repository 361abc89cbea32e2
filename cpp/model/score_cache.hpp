// A cache of district scores, shared by all runs and threads of a search on one data set.
//
// A score is a pure function of its key, so results do not depend on the size of the cache, on
// evictions, or on which thread stored a value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
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

    /// F of a district, and the work of its fit (see `DistrictFitter::work`).
    struct Entry {
        double objective;
        float work;
    };

    std::optional<Entry> find(const Key& key) {
        Shard& shard = shards_[key.high % n_shards];
        std::scoped_lock lock(shard.mutex);
        if (shard.buckets.empty()) return std::nullopt;
        const Bucket& bucket = shard.bucket_of(key);
        for (int e = 0; e < bucket.size; ++e)
            if (bucket.keys[e] == key) return Entry{bucket.objectives[e], bucket.work[e]};
        return std::nullopt;
    }

    void store(const Key& key, const Entry& value) {
        Shard& shard = shards_[key.high % n_shards];
        std::scoped_lock lock(shard.mutex);
        if (shard.buckets.empty()) return;
        // Another thread may have stored the same value while this one computed it: harmless, the
        // two entries are equal.
        if (shard.bucket_of(key).size == Bucket::capacity &&
            2 * shard.buckets.size() <= max_buckets_)
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
        double objectives[capacity];
        float work[capacity];
        std::int32_t size = 0, next = 0;  // `next` is overwritten when the bucket is full

        void put(const Key& key, const Entry& value) {
            const int e = size < capacity ? size++ : next++ % capacity;
            keys[e] = key;
            objectives[e] = value.objective;
            work[e] = value.work;
        }
    };

    struct Shard {
        std::mutex mutex;
        std::vector<Bucket> buckets;  // a power of two, or none

        Bucket& bucket_of(const Key& key) { return buckets[key.low & (buckets.size() - 1)]; }

        void grow() {
            std::vector<Bucket> old(2 * buckets.size());
            old.swap(buckets);
            for (const Bucket& bucket : old)
                for (int e = 0; e < bucket.size; ++e)
                    bucket_of(bucket.keys[e])
                        .put(bucket.keys[e], {bucket.objectives[e], bucket.work[e]});
        }
    };

    std::size_t max_buckets_;
    std::vector<Shard> shards_;
};

}  // namespace bowfree
