// TfIdfVectorizer.
#include "base/keyed.h"
#include "ops/common.h"

namespace sdx::ops {
namespace {

// The pool's n-grams as a tree: a step from a node with a token leads to the node of the longer
// gram.
class Grams {
 public:
  static constexpr uint32_t kNone = 0;  // the root, which no step leads to
  static constexpr int64_t kNoCoordinate = -1;

  void add(std::span<const uint32_t> tokens, int64_t coordinate) {
    uint32_t node = 0;
    for (const uint32_t token : tokens) {
      const auto [at, fresh] = steps_.try_emplace(key(node, token), uint32_t(coordinates_.size()));
      if (fresh) coordinates_.push_back(kNoCoordinate);
      node = at->second;
    }
    coordinates_[node] = coordinate;
  }
  uint32_t step(uint32_t node, uint32_t token) const {
    const auto at = steps_.find(key(node, token));
    return at == steps_.end() ? kNone : at->second;
  }
  int64_t coordinate(uint32_t node) const { return coordinates_[node]; }

 private:
  static uint64_t key(uint32_t node, uint32_t token) { return uint64_t{node} << 32 | token; }

  KeyedMap<uint64_t, uint32_t> steps_;
  std::vector<int64_t> coordinates_{kNoCoordinate};
};

template <class T>
using Tokens = KeyedMap<T, uint32_t>;

struct TfIdf {
  size_t shortest, longest;  // grams
  size_t skips;
  bool count_once;             // IDF
  std::vector<float> weights;  // by output coordinate; empty: all one
  int64_t size;                // of a row of the output
  Tokens<std::string> strings;
  Tokens<int64_t> integers;
  Grams grams;
};

constexpr Version kHistory[] = {
    {9,
     "(X: T) -> (Y: T1) {max_gram_length!: int, max_skip_count!: int, min_gram_length!: int, "
     "mode!: string, ngram_counts!: ints, ngram_indexes!: ints, pool_int64s: ints, pool_strings: "
     "strings, weights: floats} T in i32 i64 string T1 in f32"}};

// The pool with each token as a number.
template <class T>
std::vector<uint32_t> numbered(const std::vector<T>& pool, Tokens<T>& tokens) {
  std::vector<uint32_t> result;
  result.reserve(pool.size());
  for (const T& token : pool) {
    result.push_back(tokens.try_emplace(token, uint32_t(tokens.size())).first->second);
  }
  return result;
}

Status add_grams(TfIdf& a, std::span<const uint32_t> pool, const std::vector<int64_t>& starts,
                 const std::vector<int64_t>& coordinates) {
  size_t gram = 0;
  for (size_t i = 0; i < starts.size(); ++i) {
    const int64_t begin = starts[i];
    const int64_t end = i + 1 < starts.size() ? starts[i + 1] : int64_t(pool.size());
    const auto length = int64_t(i + 1);
    if (begin < 0 || end < begin || end > int64_t(pool.size()) || (end - begin) % length != 0) {
      return fail("SDX-T0633", "{}-grams cannot lie at [{}, {}) of a pool of {}", length, begin,
                  end, pool.size());
    }
    for (int64_t at = begin; at < end; at += length, ++gram) {
      if (gram >= coordinates.size()) {
        return fail("SDX-T0633", "there are more n-grams than the {} ngram_indexes",
                    coordinates.size());
      }
      if (size_t(length) < a.shortest || size_t(length) > a.longest) continue;
      a.grams.add(pool.subspan(size_t(at), size_t(length)), coordinates[gram]);
    }
  }
  return ok();
}

Result<TfIdf> read(const Node& node, const Facts& in) {
  if (in[0].has_rank() && in[0].rank() > 2) {
    return fail("SDX-T0634", "the input has rank {}, expected [C] or [N,C]", in[0].rank());
  }
  TfIdf a;
  const int64_t shortest = node.i("min_gram_length"), longest = node.i("max_gram_length");
  const int64_t skips = node.i("max_skip_count");
  if (shortest < 1 || longest < shortest || skips < 0) {
    return fail("SDX-T0635", "gram lengths {} to {} with {} skips cannot be", shortest, longest,
                skips);
  }
  a.shortest = size_t(shortest);
  a.longest = size_t(longest);
  a.skips = size_t(skips);
  const std::string& mode = node.s("mode");
  if (mode != "TF" && mode != "IDF" && mode != "TFIDF") {
    return fail("SDX-T0635", "mode is \"{}\", expected TF, IDF or TFIDF", mode);
  }
  a.count_once = mode == "IDF";
  const std::vector<int64_t>& coordinates = node.ints("ngram_indexes");
  a.size = 0;
  for (const int64_t coordinate : coordinates) {
    if (coordinate < 0 || coordinate >= int64_t{1} << 40) {
      return fail("SDX-T0633", "ngram_indexes holds {}", coordinate);
    }
    a.size = std::max(a.size, coordinate + 1);
  }
  if (mode != "TF" && node.has("weights")) a.weights = node.get<std::vector<float>>("weights");
  if (!a.weights.empty() && int64_t(a.weights.size()) < a.size) {
    return fail("SDX-T0633", "{} weights are given for {} outputs", a.weights.size(), a.size);
  }
  std::vector<uint32_t> pool;
  if (node.has("pool_strings") == node.has("pool_int64s")) {
    return fail("SDX-T0633", "one of pool_strings and pool_int64s must be given");
  }
  if (node.has("pool_strings") != (in[0].type == DType::string)) {
    return fail("SDX-T0633", "the pool does not hold elements of type {}", short_name(in[0].type));
  }
  if (node.has("pool_strings")) {
    pool = numbered(node.get<std::vector<std::string>>("pool_strings"), a.strings);
  } else {
    pool = numbered(node.ints("pool_int64s"), a.integers);
  }
  SDX_TRY(add_grams(a, pool, node.ints("ngram_counts"), coordinates));
  return a;
}

Result<Facts> infer(const TfIdf& a, const Facts& in) {
  if (!in[0].has_rank()) return Facts{Fact::tensor(DType::f32)};
  Shape shape{Dim(a.size)};
  if (in[0].rank() == 2) shape.insert(shape.begin(), in[0].dim(0));
  return Facts{Fact::tensor(DType::f32, std::move(shape))};
}

// Grams of one row whose items stand `distance` apart.
void count(const TfIdf& a, std::span<const int64_t> row, size_t distance, size_t shortest,
           std::span<float> y) {
  for (size_t start = 0; start < row.size(); ++start) {
    uint32_t node = 0;
    size_t length = 1;
    for (size_t at = start; at < row.size() && length <= a.longest; at += distance, ++length) {
      if (row[at] < 0) break;
      node = a.grams.step(node, uint32_t(row[at]));
      if (node == Grams::kNone) break;
      if (length >= shortest && a.grams.coordinate(node) != Grams::kNoCoordinate) {
        y[size_t(a.grams.coordinate(node))] += 1;
      }
    }
  }
}

// The elements as token numbers, -1 where the pool does not have one.
std::vector<int64_t> tokens_of(const TfIdf& a, const View& x) {
  std::vector<int64_t> result(x.count, -1);
  for (size_t i = 0; i < x.count; ++i) {
    if (x.type == DType::string) {
      const auto at = a.strings.find(x.data<std::string>()[i]);
      if (at != a.strings.end()) result[i] = at->second;
    } else {
      const auto at = a.integers.find(get_i64(x.type, x.raw, i));
      if (at != a.integers.end()) result[i] = at->second;
    }
  }
  return result;
}

Status reference(const TfIdf& a, Args& args) {
  const View &x = args.in(0), &y = args.out();
  const size_t rows = x.rank() == 2 ? size_t(x.dims[0]) : 1;
  const size_t columns = rows == 0 ? 0 : x.count / rows;
  std::fill_n(y.data<float>(), y.count, 0.f);
  const std::vector<int64_t> tokens = tokens_of(a, x);
  for (size_t r = 0; r < rows; ++r) {
    const std::span<float> out = y.values<float>().subspan(r * size_t(a.size), size_t(a.size));
    size_t shortest = a.shortest;
    // No gap is wider than the row.
    for (size_t distance = 1; distance <= a.skips + 1 && distance <= std::max<size_t>(columns, 1);
         ++distance) {
      if (shortest > a.longest) break;
      count(a, std::span(tokens).subspan(r * columns, columns), distance, shortest, out);
      // Single items have no gaps, so they count once.
      if (shortest == 1) shortest = 2;
    }
    for (size_t i = 0; i < out.size(); ++i) {
      if (a.count_once) out[i] = std::min(out[i], 1.f);
      if (!a.weights.empty() && out[i] != 0) out[i] *= a.weights[i];
    }
  }
  return ok();
}

AttrMap example(std::string mode, int64_t shortest, int64_t longest, int64_t skips) {
  return {{"mode", std::move(mode)},
          {"min_gram_length", shortest},
          {"max_gram_length", longest},
          {"max_skip_count", skips},
          {"ngram_counts", std::vector<int64_t>{0, 2}},
          {"ngram_indexes", std::vector<int64_t>{0, 1, 3}}};
}

std::vector<Case> cases() {
  AttrMap words = example("TF", 1, 2, 1), numbers = example("TFIDF", 1, 2, 0);
  words["pool_strings"] = std::vector<std::string>{"a", "b", "a", "b"};
  numbers["pool_int64s"] = std::vector<int64_t>{7, 8, 8, 7};
  numbers["weights"] = std::vector<float>{.5f, 2, 9, 3};
  AttrMap once = numbers;
  once["mode"] = std::string("IDF");
  const Tensor x = Tensor::of<int32_t>({2, 4}, {7, 8, 7, 8, 9, 9, 8, 8});
  return {{.name = "skipping_finds_more_pairs_and_no_more_single_words",
           .opset = 9,
           .attrs = words,
           .inputs = {Tensor::of<std::string>({4}, {"a", "b", "b", "c"})},
           .expected = {Tensor::of<float>({4}, {1, 2, 0, 2})}},
          {.name = "counts_are_weighted",
           .opset = 9,
           .attrs = numbers,
           .inputs = {x},
           .expected = {Tensor::of<float>({2, 4}, {1, 4, 0, 3, 0, 4, 0, 0})}},
          {.name = "or_presence_is",
           .opset = 9,
           .attrs = once,
           .inputs = {x},
           .expected = {Tensor::of<float>({2, 4}, {.5f, 2, 0, 3, 0, 2, 0, 0})}}};
}

constexpr OpOf<TfIdf> kTfIdfVectorizer{
    .name = "TfIdfVectorizer",
    .doc = "How often each n-gram of a pool occurs in each row, perhaps weighted.",
    .history = kHistory,
    .read = read,
    .infer = infer,
    .reference = reference,
    .cases = cases,
};

}  // namespace

extern const Op tf_idf_vectorizer = erase<kTfIdfVectorizer>();

}  // namespace sdx::ops
