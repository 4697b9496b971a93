#include "plait/text/tokenizer.h"

#include <fstream>
#include <thread>

#include <gtest/gtest.h>

#include "plait/core/system/thread_team.h"
#include "plait/data/sample_key.h"
#include "plait/text/inside/unicode.h"
#include "plait/text/training.h"
#include "plait/text/vocabulary_parts.h"

#include "tests/io/temporary_folder.h"
#include "tests/support/errors.h"

namespace plait::text {
namespace {

// A byte-level BPE without merges.
Tokenizer bytes_only() {
  Trainer trainer(Tokenizer::parse(
      R"({"pre_tokenizer":{"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true},
          "decoder":{"type":"ByteLevel"},"model":{"type":"BPE","vocab":{},"merges":[]}})"));
  return trainer.train({.initial_alphabet = byte_level_alphabet()});
}

Tokenizer words(const std::string& more = "") {
  return Tokenizer::parse(
      R"({"pre_tokenizer":{"type":"WhitespaceSplit"},"model":{"type":"WordLevel","unk_token":"?",
          "vocab":{"?":0,"a":1,"b":2,"c":3}})" +
      more + "}");
}

std::vector<uint32_t> ids(std::initializer_list<uint32_t> values) { return values; }

TEST(Tokenizer, TextsBecomeIdsAndTextsAgain) {
  if (!has_unicode()) GTEST_SKIP() << "this build has no utf8proc";
  const Tokenizer tokenizer = bytes_only();
  const Encoding encoding = tokenizer.encode("hé 語");
  EXPECT_EQ(encoding.size(), 7u);
  EXPECT_EQ(encoding.offsets[1], (Encoding::Offsets{1, 2}));
  EXPECT_EQ(encoding.offsets[6], (Encoding::Offsets{3, 4}));
  EXPECT_EQ(tokenizer.encode("hé", {.byte_offsets = true}).offsets[1], (Encoding::Offsets{1, 3}));
  EXPECT_EQ(tokenizer.decode(encoding.ids), "hé 語");
  EXPECT_EQ(tokenizer.vocab_size(), 256u);
  EXPECT_EQ(encoding.token(0), "h");
}

TEST(Tokenizer, DropoutDrawsFromAKey) {
  const Tokenizer tokenizer = Tokenizer::parse(
      R"({"model":{"type":"BPE","dropout":0.5,"vocab":{"a":0,"b":1,"ab":2,"abab":3},
          "merges":[["a","b"],["ab","ab"]]}})");
  EXPECT_EQ(tokenizer.dropout(), 0.5f);
  EXPECT_THROW(tokenizer.encode("abab"), ValueError);
  EXPECT_EQ(tokenizer.with_dropout(std::nullopt).encode("abab").ids, ids({3}));
  EXPECT_EQ(tokenizer.with_dropout(1).encode("abab", {.key = KeyBits{}}).ids, ids({0, 1, 0, 1}));
  EXPECT_THROW(tokenizer.with_dropout(1.5), ValueError);
  EXPECT_THROW(words().with_dropout(0.5), ValueError);
  EXPECT_EQ(words().encode("a", {.key = KeyBits{}}).ids, ids({1}));  // has no use for it
  const std::vector<TextInput> inputs(50, TextInput{"abab"});
  const auto key_of = [](uint64_t i) {
    return data::fold_in(KeyBits{{7, 0}}, static_cast<int64_t>(i));
  };
  const auto batch = tokenizer.encode_batch(inputs, {.key = KeyBits{{7, 0}}});
  size_t whole = 0;
  for (size_t i = 0; i < inputs.size(); ++i) {
    EXPECT_EQ(batch[i].ids, tokenizer.encode("abab", {.key = key_of(i)}).ids);
    if (batch[i].size() == 1) ++whole;
  }
  EXPECT_GT(whole, 0u);
  EXPECT_LT(whole, inputs.size());
}

TEST(Tokenizer, StreamsGiveWholeCharacters) {
  if (!has_unicode()) GTEST_SKIP() << "this build has no utf8proc";
  const Tokenizer tokenizer = bytes_only();
  const std::vector<uint32_t> all = tokenizer.encode("aé語😀").ids;
  DecodeStream stream = tokenizer.decode_stream();
  std::vector<std::string> parts;
  for (const uint32_t id : all) parts.push_back(stream.step(id));
  EXPECT_EQ(parts, (std::vector<std::string>{"a", "", "é", "", "", "語", "", "", "", "😀"}));
  EXPECT_EQ(stream.step(all[1]), "");
  EXPECT_EQ(stream.finish(), "\ufffd");
}

TEST(Tokenizer, TextsThatAreNotUtf8AreRefused) {
  const Tokenizer tokenizer = words();
  expect_contains(message_of<ValueError>([&] { tokenizer.encode("a \xff"); }),
                  {"the text is not UTF-8: byte 2 is 0xff"});
  const std::vector<TextInput> batch = {{"a"}, {"b", "\xc3"}};
  expect_contains(message_of<ValueError>([&] { tokenizer.encode_batch(batch); }),
                  {"text 1 of the batch: the text is not UTF-8"});
}

TEST(Tokenizer, BatchesAreComputedByTheTeamAndPadded) {
  const Tokenizer tokenizer = words().with_padding(Padding{.pad_id = 3, .pad_token = "c"});
  std::vector<std::string> texts;
  for (int i = 0; i < 500; ++i)
    texts.push_back(std::string(static_cast<size_t>(i % 7), 'x') + " a");
  std::vector<TextInput> inputs(texts.begin(), texts.end());
  const int before = thread_count();
  for (const int threads : {1, 3}) {
    set_thread_count(threads);
    const auto encodings = tokenizer.encode_batch(inputs);
    ASSERT_EQ(encodings.size(), 500u);
    EXPECT_EQ(encodings[0].ids, ids({1, 3}));
    EXPECT_EQ(encodings[0].attention_mask, ids({1, 0}));
    EXPECT_EQ(encodings[1].ids, ids({0, 1}));
  }
  set_thread_count(before);
}

TEST(Tokenizer, OneIsSharedByThreads) {
  if (!has_unicode()) GTEST_SKIP() << "this build has no utf8proc";
  const Tokenizer tokenizer = bytes_only();
  const std::string text = "some words, and some more";
  const auto expected = tokenizer.encode(text).ids;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < 200; ++k) EXPECT_EQ(tokenizer.encode(text).ids, expected);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(Tokenizer, OptionsMakeAnotherTokenizer) {
  const Tokenizer tokenizer = words();
  const Tokenizer cut = tokenizer.with_truncation(Truncation{.max_length = 2, .stride = 1});
  const Encoding encoding = cut.encode("a b c");
  EXPECT_EQ(encoding.ids, ids({1, 2}));
  ASSERT_EQ(encoding.overflowing.size(), 1u);
  EXPECT_EQ(encoding.overflowing[0].ids, ids({2, 3}));
  EXPECT_EQ(tokenizer.encode("a b c").ids, ids({1, 2, 3}));
  EXPECT_EQ(cut.with_truncation(std::nullopt).json(), tokenizer.json());
  const Tokenizer more = tokenizer.with_added_tokens({{.content = "<x>", .special = true}});
  EXPECT_EQ(more.encode("a<x>b").ids, ids({1, 4, 2}));
  EXPECT_EQ(more.decode(ids({1, 4, 2})), "a b");
  EXPECT_EQ(more.decode(ids({1, 4, 99}), false), "a <x>");
  EXPECT_FALSE(tokenizer.token_to_id("<x>"));
  expect_contains(message_of<ValueError>(
                      [&] { tokenizer.with_truncation(Truncation{.max_length = 3, .stride = 3}); }),
                  {"the stride is 3, expected less than 3"});
}

TEST(Tokenizer, FilesAreWrittenAndRead) {
  if (!has_unicode()) GTEST_SKIP() << "this build has no utf8proc";
  const TemporaryFolder folder;
  const Tokenizer tokenizer = words().with_padding(Padding{});
  tokenizer.save(folder.path("tokenizer.json"));
  EXPECT_EQ(Tokenizer::load(folder.path("tokenizer.json")).json(), tokenizer.json());
  EXPECT_EQ(folder.file_count(), 1u);
  std::ofstream(folder.path("vocab.txt")) << "[UNK]\n[CLS]\n[SEP]\nthe\n##re\n";
  const Tokenizer bert = Tokenizer::load(folder.path("vocab.txt"));
  EXPECT_EQ(bert.encode("THERE x").ids, ids({1, 3, 4, 0, 2}));
  EXPECT_EQ(bert.encode(TextInput{"the", "there"}).type_ids, ids({0, 0, 0, 1, 1, 1}));
  expect_contains(message_of<IoError>([&] { Tokenizer::load(folder.path("none.json")); }),
                  {"cannot open", "none.json"});
  std::ofstream(folder.path("bad.json")) << R"({"model": {"type": "BPE", "vocab": {}}})";
  expect_contains(message_of<ParseError>([&] { Tokenizer::load(folder.path("bad.json")); }),
                  {"bad.json: model.merges is missing"});
}

TEST(Tokenizer, FieldsOfAFileAreObeyedOrNamed) {
  expect_contains(message_of<ParseError>([] { words(R"(,"magic":1)"); }),
                  {"magic is not supported"});
  expect_contains(message_of<ParseError>([] { words(R"(,"decoder":{"type":"Fuse","x":1})"); }),
                  {"decoder.x is not supported"});
  expect_contains(message_of<ParseError>([] { words(R"(,"normalizer":{"type":"Strip"})"); }),
                  {"normalizer.strip_left is missing"});
}

VocabularyParts llama_parts() {
  const std::string mark = "\u2581";
  VocabularyParts parts{.kind = VocabularyKind::sentencepiece_bpe,
                        .tokens = {"<unk>", "<s>", mark, "l", "o", "w", "lo", "low", mark + "low"},
                        .scores = {0, 0, -9, -8, -7, -6, -3, -2, -1},
                        .unknown = 0,
                        .bos = 1,
                        .add_bos = true};
  parts.types.assign(parts.tokens.size(), TokenType::normal);
  parts.types[0] = TokenType::unknown;
  parts.types[1] = TokenType::control;
  return parts;
}

TEST(VocabularyParts, TheTokenWithTheHighestScoreIsMadeFirst) {
  const Tokenizer tokenizer = Tokenizer::from_parts(llama_parts());
  EXPECT_EQ(tokenizer.encode("low lol").ids, ids({1, 8, 2, 6, 3}));
  EXPECT_EQ(tokenizer.encode("é<s>").ids, ids({1, 2, 0, 1}));
  EXPECT_EQ(tokenizer.decode(ids({1, 8, 2, 6, 3})), "low lol");
  EXPECT_EQ(Tokenizer::parse(tokenizer.json()).encode("low lol").ids, ids({1, 8, 2, 6, 3}));
}

TEST(VocabularyParts, ListsThatDoNotFitAreRefused) {
  VocabularyParts parts = llama_parts();
  parts.scores.pop_back();
  expect_contains(message_of<ParseError>([&] { Tokenizer::from_parts(parts); }),
                  {"there are 8 scores for 9 tokens"});
  parts = llama_parts();
  parts.bos = 9;
  expect_contains(message_of<ParseError>([&] { Tokenizer::from_parts(parts); }),
                  {"unknown token 9, expected 0 to 8"});
  parts = llama_parts();
  parts.tokens[3] = "\xff";
  expect_contains(message_of<ParseError>([&] { Tokenizer::from_parts(parts); }),
                  {"token 3 is not UTF-8"});
  expect_contains(
      message_of<ParseError>([] { Tokenizer::from_parts({.tokens = {"a"}, .pre = "unheard-of"}); }),
      {"the pre-tokenizer \"unheard-of\" is not supported"});
}

TEST(Training, MergesAreLearned) {
  Trainer trainer(words());
  const std::vector<std::string_view> texts = {"b a b", "a b a b", "c"};
  trainer.add(texts);
  EXPECT_EQ(trainer.word_count(), 3u);
  const Tokenizer tokenizer = trainer.train({.special_tokens = {{.content = "?"}}});
  EXPECT_EQ(tokenizer.encode("b a c d").ids, ids({1, 2, 3, 0}));
  Trainer merges(Tokenizer::parse(R"({"model":{"type":"BPE","vocab":{},"merges":[]}})"));
  const std::vector<std::string_view> more = {"abab", "abc"};
  merges.add(more);
  EXPECT_EQ(merges.train({.vocab_size = 4}).json(),
            R"({"version":"1.0","truncation":null,"padding":null,"added_tokens":[],)"
            R"("normalizer":null,"pre_tokenizer":null,"post_processor":null,"decoder":null,)"
            R"("model":{"type":"BPE","dropout":null,"unk_token":null,)"
            R"("continuing_subword_prefix":null,"end_of_word_suffix":null,"fuse_unk":false,)"
            R"("byte_fallback":false,"ignore_merges":false,)"
            R"("vocab":{"a":0,"b":1,"c":2,"ab":3},"merges":[["a","b"]]}})");
}

}  // namespace
}  // namespace plait::text
