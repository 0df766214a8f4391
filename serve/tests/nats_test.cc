#include "serve/queue/nats.h"

#include <gtest/gtest.h>

#include "serve/queue/jetstream.h"

namespace sardonyx::serve {
namespace {

using Kind = NatsParser::Kind;

// Everything that the bytes hold, given in two pieces.
std::vector<NatsParser::Item> parsed(std::string_view bytes, size_t cut, bool& failed) {
  NatsParser parser;
  std::vector<NatsParser::Item> items;
  failed = false;
  for (const std::string_view piece : {bytes.substr(0, cut), bytes.substr(cut)}) {
    parser.add(piece);
    for (;;) {
      auto item = parser.next();
      if (!item) {
        failed = true;
        return items;
      }
      if (item->kind == Kind::none) break;
      items.push_back(*std::move(item));
    }
  }
  return items;
}

constexpr std::string_view kTalk =
    "INFO {\"headers\":true}\r\nPING\r\n+OK\r\nMSG a.b 1 5\r\nhe\r\no\r\n"
    "HMSG a.c 1 $JS.ACK.s.c.2.17.9.123.0 30 35\r\nNATS/1.0\r\nNats-Msg-Id: x\r\n\r\nhello\r\n"
    "HMSG p 1 30 30\r\nNATS/1.0 408 Request Timeout\r\n\r\n\r\n-ERR 'no'\r\n";

TEST(NatsProtocol, every_cut_of_a_talk_gives_the_same_messages) {
  // The lengths in the talk, made right.
  std::string talk(kTalk);
  const auto fix = [&](std::string_view from, std::string_view to) {
    talk.replace(talk.find(from), from.size(), to);
  };
  fix("30 35", "28 33");
  fix("HMSG p 1 30 30", "HMSG p 1 32 32");
  for (size_t cut = 0; cut <= talk.size(); ++cut) {
    bool failed = false;
    const auto items = parsed(talk, cut, failed);
    ASSERT_FALSE(failed) << cut;
    ASSERT_EQ(items.size(), 7U) << cut;
    EXPECT_EQ(items[3].message.payload, "he\r\no");
    EXPECT_EQ(items[4].message.payload, "hello");
    EXPECT_EQ(items[4].message.header("nats-msg-id"), "x");
    EXPECT_EQ(items[4].message.reply, "$JS.ACK.s.c.2.17.9.123.0");
    EXPECT_EQ(items[5].message.status, 408);
    EXPECT_EQ(items[6].text, "'no'");
  }
}

TEST(NatsProtocol, what_is_not_nats_ends_the_talk) {
  for (const std::string_view bytes :
       {"GET / HTTP/1.1\r\n", "MSG a 1 x\r\n", "MSG a 1 99999999999\r\n", "MSG a 1 -1\r\n",
        "HMSG a 1 9 3\r\n", "MSG a 1 2\r\nabc\r\n", "HMSG a 1 4 4\r\nabcd\r\n", "MSG\r\n",
        "\r\n"}) {
    bool failed = false;
    parsed(bytes, 0, failed);
    EXPECT_TRUE(failed) << bytes;
  }
  bool failed = false;
  parsed(std::string(100'000, 'x'), 50'000, failed);
  EXPECT_TRUE(failed) << "a line without an end";
}

TEST(NatsProtocol, every_changed_byte_is_messages_or_an_error) {
  std::string talk(kTalk);
  for (size_t at = 0; at < talk.size(); ++at) {
    for (const char byte : {'\0', '\r', '\n', ' ', '9', '\xff'}) {
      const char was = std::exchange(talk[at], byte);
      bool failed = false;
      parsed(talk, at, failed);
      talk[at] = was;
    }
  }
}

TEST(NatsAddress, has_a_host_a_port_and_perhaps_a_user) {
  const auto plain = NatsAddress::parse("nats://h");
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->host + ":" + plain->port, "h:4222");
  const auto user = NatsAddress::parse("nats://u:p:w@h.example:99/");
  ASSERT_TRUE(user);
  EXPECT_EQ(user->user + "|" + user->password + "|" + user->host + "|" + user->port,
            "u|p:w|h.example|99");
  const auto token = NatsAddress::parse("secret@[::1]:5");
  ASSERT_TRUE(token);
  EXPECT_EQ(token->token + "|" + token->host + "|" + token->port, "secret|::1|5");
  for (const char* wrong : {"tls://h", "nats://", "nats://h:x", "nats://h:", "http://h"})
    EXPECT_FALSE(NatsAddress::parse(wrong)) << wrong;
}

TEST(JetStream, an_acknowledgement_says_how_often_and_which) {
  const auto old_form = delivery_of("$JS.ACK.s.c.2.17.9.123.0");
  ASSERT_TRUE(old_form);
  EXPECT_EQ(old_form->deliveries, 2);
  EXPECT_EQ(old_form->sequence, 17);
  const auto new_form = delivery_of("$JS.ACK.domain.hash.s.c.3.18.9.123.0.random");
  ASSERT_TRUE(new_form);
  EXPECT_EQ(new_form->deliveries, 3);
  EXPECT_EQ(new_form->sequence, 18);
  for (const char* wrong : {"", "$JS.ACK.s.c.x.17.9.123.0", "a.b", "$JS.ACK.s.c.2"})
    EXPECT_FALSE(delivery_of(wrong)) << wrong;
}

TEST(JetStream, an_id_that_is_no_word_of_a_subject_becomes_its_hash) {
  EXPECT_EQ(token_of("row-7_x"), "row-7_x");
  EXPECT_EQ(token_of("a.b"),
            "sha256-2e7336dc8eba87ef472df568c35482abf2575dc3e5eac0c5c62b8ffaeac2c934");
  EXPECT_NE(token_of("a b"), token_of("a  b"));
}

}  // namespace
}  // namespace sardonyx::serve
