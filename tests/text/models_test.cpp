#include <random>

#include <gtest/gtest.h>

#include "plait/text/inside/files/base64.h"
#include "plait/text/inside/files/json_writer.h"
#include "plait/text/inside/models/bpe.h"
#include "plait/text/inside/models/unigram.h"
#include "plait/text/inside/models/word_piece.h"

#include "tests/support/errors.h"

namespace plait::text {
namespace {

Vocabulary vocabulary_of(std::initializer_list<std::string_view> tokens) {
  Vocabulary vocabulary;
  uint32_t id = 0;
  for (const std::string_view token : tokens) vocabulary.add(token, id++);
  return vocabulary;
}

std::string spelt(const Model& model, std::string_view word) {
  ModelMemory memory;
  std::vector<ModelToken> tokens;
  model.tokenize(word, memory, tokens);
  std::string result;
  for (const ModelToken& token : tokens) {
    result += std::string(model.vocabulary().text(token.id)) + " ";
  }
  return result;
}

std::vector<ModelToken> tokens_of(const Model& model, std::string_view word) {
  ModelMemory memory;
  std::vector<ModelToken> tokens;
  model.tokenize(word, memory, tokens);
  return tokens;
}

TEST(Vocabulary, TokensAndIdsAreFound) {
  Vocabulary vocabulary;
  for (uint32_t i = 0; i < 1000; ++i) vocabulary.add("token" + std::to_string(i), 3 * i);
  EXPECT_EQ(vocabulary.size(), 1000u);
  EXPECT_EQ(vocabulary.find("token7"), 21u);
  EXPECT_EQ(vocabulary.text(2997), "token999");
  EXPECT_EQ(vocabulary.text_if_any(1), std::nullopt);
  EXPECT_FALSE(vocabulary.find("token1000"));
  vocabulary.add("token7", 22);
  EXPECT_EQ(vocabulary.find("token7"), 22u);
  EXPECT_EQ(vocabulary.size(), 1000u);
}

TEST(Vocabulary, AbsurdIdsTakeNoMemory) {
  Vocabulary vocabulary;
  vocabulary.add("a", INT32_MAX);
  vocabulary.add("b", 0);
  EXPECT_EQ(vocabulary.text(INT32_MAX), "a");
  EXPECT_EQ(vocabulary.text(0), "b");
  EXPECT_EQ(vocabulary.entries().back().id, static_cast<uint32_t>(INT32_MAX));
}

TEST(ByteTrie, PrefixesAreFoundShortestFirst) {
  std::vector<ByteTrie::Key> keys = {{"a", 0}, {"abc", 1}, {"ab", 2}, {"b", 3}, {"ab", 4}, {"", 5}};
  std::vector<std::string> others;
  for (char c = 'c'; c <= 'z'; ++c) others.push_back(std::string("a") + c);
  for (const std::string& key : others) keys.emplace_back(key, 9);
  const ByteTrie trie(keys);
  std::string found;
  const auto note = [&](size_t size, uint32_t value) {
    found += std::to_string(size) + ":" + std::to_string(value) + " ";
  };
  trie.for_each_prefix("abcd", note);
  EXPECT_EQ(found, "1:0 2:4 3:1 ");
  found.clear();
  trie.for_each_prefix("azz", note);
  EXPECT_EQ(found, "1:0 2:9 ");
  trie.for_each_prefix("", note);
  trie.for_each_prefix("x", note);
  EXPECT_EQ(found, "1:0 2:9 ");
}

TEST(WordCache, ForgetsWhenItIsFull) {
  WordCache cache;
  std::vector<ModelToken> found;
  for (uint32_t i = 0; i < 100'000; ++i) {
    const std::string word = "word" + std::to_string(i);
    const ModelToken token{i, 0, 4};
    cache.insert(word, text_hash(word), {&token, 1});
    found.clear();
    ASSERT_TRUE(cache.find(word, text_hash(word), found));
    ASSERT_EQ(found, (std::vector<ModelToken>{token}));
  }
  EXPECT_FALSE(cache.find("word0", text_hash("word0"), found));
}

TEST(Bpe, TheEarliestMergeIsDoneFirst) {
  const Bpe model(vocabulary_of({"a", "b", "c", "ab", "bc", "abc"}),
                  {{"b", "c", 0}, {"a", "bc", 1}, {"a", "b", 2}}, {});
  EXPECT_EQ(spelt(model, "abcab"), "abc ab ");
  EXPECT_EQ(spelt(model, "axb"), "ab ");  // without an unknown token, x is left out
}

TEST(Bpe, MergesAreLeftOutByDropout) {
  const Bpe plain(vocabulary_of({"a", "b", "ab"}), {{"a", "b", 0}}, {});
  const auto spelt_with = [&](std::optional<float> dropout, uint64_t seed) {
    ModelMemory memory;
    memory.draws.emplace(KeyBits{{seed, 0}});
    std::vector<ModelToken> tokens;
    plain.with_dropout(dropout)->tokenize("ab", memory, tokens);
    return tokens.size();
  };
  EXPECT_FALSE(plain.dropout());
  size_t merged = 0;
  for (uint64_t seed = 0; seed < 1000; ++seed) {
    EXPECT_EQ(spelt_with(std::nullopt, seed), 1u);
    EXPECT_EQ(spelt_with(0.0f, seed), 1u);
    EXPECT_EQ(spelt_with(1.0f, seed), 2u);
    EXPECT_EQ(spelt_with(0.25f, seed), spelt_with(0.25f, seed));
    if (spelt_with(0.25f, seed) == 1) ++merged;
  }
  EXPECT_NEAR(static_cast<double>(merged), 750, 70);  // five standard deviations
}

TEST(Bpe, UnknownCharactersAreOneTokenOrBytes) {
  const BpeOptions fused{.unknown = "?", .fuses_unknown = true};
  EXPECT_EQ(spelt(Bpe(vocabulary_of({"a", "?"}), {}, fused), "xyaz"), "? a ? ");
  EXPECT_EQ(spelt(Bpe(vocabulary_of({"a", "?"}), {}, {.unknown = "?"}), "xya"), "? ? a ");
  EXPECT_EQ(
      spelt(Bpe(vocabulary_of({"a", "<0xC3>", "<0xA9>"}), {}, {.has_byte_tokens = true}), "éa"),
      "<0xC3> <0xA9> a ");
}

// Words of few symbols and of many take different ways.
TEST(Bpe, LongWordsGiveTheTokensOfTheirMerges) {
  Vocabulary vocabulary = vocabulary_of({"a", "b"});
  BpeMerges merges;
  std::mt19937 random(1);
  std::vector<std::string> tokens = {"a", "b"};
  while (tokens.size() < 60) {
    const std::string left = tokens[random() % tokens.size()],
                      right = tokens[random() % tokens.size()];
    if (vocabulary.find(left + right)) continue;
    merges.push_back({left, right, static_cast<uint32_t>(merges.size())});
    vocabulary.add(left + right, static_cast<uint32_t>(tokens.size()));
    tokens.push_back(left + right);
  }
  const Bpe model(vocabulary, merges, {});
  for (int i = 0; i < 300; ++i) {
    std::string word;
    const size_t length = 1 + random() % 90;
    while (word.size() < length) word += "ab"[random() % 2];
    // By the definition: again and again the earliest merge, from left to right.
    std::vector<std::string> expected;
    for (const char c : word) expected.emplace_back(1, c);
    while (true) {
      size_t best = SIZE_MAX, place = 0;
      for (size_t k = 0; k + 1 < expected.size(); ++k) {
        for (size_t rank = 0; rank < merges.size() && rank < best; ++rank) {
          if (merges[rank].left != expected[k] || merges[rank].right != expected[k + 1]) continue;
          best = rank;
          place = k;
        }
      }
      if (best == SIZE_MAX) break;
      expected[place] += expected[place + 1];
      expected.erase(expected.begin() + static_cast<ptrdiff_t>(place) + 1);
    }
    std::string text;
    for (const std::string& token : expected) text += token + " ";
    ASSERT_EQ(spelt(model, word), text) << word;
  }
}

TEST(Bpe, TextsAreDividedAtSpacesOnlyIfNoTokenReachesOverOne) {
  const std::string mark = "\u2581";
  const BpeMerges merges = {{mark, "a", 0}, {"a", mark, 1}};
  const Bpe reaching(vocabulary_of({mark, "a", mark + "a", "a" + mark}), merges, {});
  EXPECT_EQ(spelt(reaching, "a" + mark + "a" + mark), "a ▁a ▁ ");
  EXPECT_EQ(spelt(reaching, "a" + mark + mark), "a▁ ▁ ");
  const Bpe divided(vocabulary_of({mark, "a", mark + "a"}), {{mark, "a", 0}}, {});
  EXPECT_EQ(spelt(divided, mark + mark + "aa" + mark + "a"), "▁ ▁a a ▁a ");
  EXPECT_EQ(tokens_of(divided, "a" + mark + "a")[1], (ModelToken{2, 1, 5}));
}

TEST(Bpe, MergesOfUnknownTokensAreRefused) {
  expect_contains(
      message_of<ParseError>([] { Bpe(vocabulary_of({"a", "b"}), {{"a", "b", 0}}, {}); }),
      {"model.merges[0]: the token \"ab\" is not in the vocabulary"});
}

TEST(WordPiece, TheLongestTokensAreTaken) {
  const WordPiece model(vocabulary_of({"[UNK]", "un", "##aff", "##able", "u", "##n", "##a"}), {});
  EXPECT_EQ(spelt(model, "unaffable"), "un ##aff ##able ");
  EXPECT_EQ(spelt(model, "unaffab"), "[UNK] ");
  EXPECT_EQ(spelt(model, std::string(101, 'u')), "[UNK] ");
  EXPECT_EQ(tokens_of(model, "unaff")[1], (ModelToken{2, 2, 5}));
}

TEST(Unigram, TheMostLikelyTokensAreTaken) {
  const Unigram model({{"<unk>", 0}, {"a", -1}, {"b", -1}, {"ab", -1.5}, {"abc", -5}, {"c", -2}}, 0,
                      false);
  EXPECT_EQ(spelt(model, "abc"), "ab c ");
  EXPECT_EQ(spelt(model, "xya"), "<unk> a ");  // one for neighbours
  EXPECT_EQ(tokens_of(model, "xya")[0], (ModelToken{0, 0, 2}));
}

TEST(JsonWriter, NumbersAreWrittenAsTheReferenceDoes) {
  JsonWriter out(false);
  out.begin_list();
  for (const double value :
       {0.0, -1.0, 0.1, 1e15, 1e16, 123456789.125, 1e-5, 1e-7, -2.5e-9, 1e300}) {
    out.real(value);
  }
  out.end_list();
  EXPECT_EQ(out.finish(),
            "[0.0,-1.0,0.1,1000000000000000.0,1e16,123456789.125,0.00001,1e-7,-2.5e-9,1e300]");
}

TEST(Base64, RoundTripsBytes) {
  std::string bytes;
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(from_base64(to_base64(bytes)), bytes);
    bytes += static_cast<char>(i * 37);
  }
  EXPECT_EQ(to_base64("ab"), "YWI=");
  for (const std::string_view bad : {"Y", "YWI", "YW=I", "Y===", "YW?=", "YWJ="}) {
    EXPECT_FALSE(from_base64(bad)) << bad;
  }
}

}  // namespace
}  // namespace plait::text
