#include "plait/comm/tcp_store.h"

#include <thread>

#include <sys/wait.h>
#include <unistd.h>

#include "plait/comm/inside/sockets/socket.h"
#include "plait/comm/inside/stores/store_messages.h"
#include "plait/core/inside/system/interruption.h"
#include "plait/core/log.h"

#include "tests/support/errors.h"

namespace plait::dist {
namespace {

constexpr Duration kPause(50);

// A port where nothing listens.
uint16_t free_port() { return port_of(listen_at({"localhost", 0})); }

TcpStoreOptions client_of(const TcpStore& server) { return {.port = server.port()}; }

TEST(TcpStore, ClientsMayStartFirst) {
  const uint16_t port = free_port();
  std::string got;
  std::thread client([&] { got = TcpStore({.port = port}).get("k"); });
  std::this_thread::sleep_for(kPause);
  TcpStore server({.port = port, .is_master = true});
  server.set("k", "v");
  client.join();
  EXPECT_EQ(got, "v");
}

TEST(TcpStore, WaitsForItsWorkers) {
  const uint16_t port = free_port();
  std::vector<std::thread> clients;
  for (int i = 0; i < 2; ++i) {
    clients.emplace_back([&] {
      TcpStore client({.port = port, .world_size = 3});
      client.wait({"end"});
    });
  }
  TcpStore server({.port = port, .is_master = true, .world_size = 3});
  EXPECT_EQ(server.num_keys(), 0);
  server.set("end", "");
  for (std::thread& client : clients) client.join();
}

TEST(TcpStore, SaysHowManyWorkersCame) {
  expect_contains(
      what_of<DistError>([] { TcpStore({.is_master = true, .world_size = 3, .timeout = kPause}); }),
      {"1 of 3", "localhost:", "0.05 s"});
}

TEST(TcpStore, RefusesPlacesWhereItCannotBe) {
  const TcpStore server({.is_master = true});
  expect_contains(what_of<DistError>([&] { TcpStore({.port = server.port(), .is_master = true}); }),
                  {"cannot listen at localhost:", "in use", "another port"});
  expect_contains(what_of<DistError>([] { TcpStore({.port = free_port(), .timeout = kPause}); }),
                  {"cannot connect to localhost:", "refused", "has started"});
  expect_contains(message_of<DistError>([] {
                    TcpStore({.host = "no.such.host.invalid", .port = 1, .timeout = kPause});
                  }),
                  {"no.such.host.invalid:1"});
  expect_contains(message_of<ValueError>([] { TcpStore({}); }), {"port is 0"});
  expect_contains(message_of<ValueError>([] { TcpStore({.is_master = true, .world_size = 0}); }),
                  {"world_size is 0"});
}

TEST(TcpStore, TheEndOfTheServerIsAnError) {
  auto server = std::make_unique<TcpStore>(TcpStoreOptions{.is_master = true});
  TcpStore client(client_of(*server));
  std::thread ending([&] {
    std::this_thread::sleep_for(kPause);
    server.reset();
  });
  expect_contains(what_of<DistError>([&] { client.get("never"); }),
                  {"TcpStore at localhost:", "connection was closed"});
  ending.join();
}

TEST(TcpStore, AWaitingThreadDoesNotHoldUpOthers) {
  TcpStore server({.is_master = true});
  std::thread waiting([&] { server.wait({"late"}); });
  for (int i = 0; i < 100; ++i) server.add("n", 1);
  server.set("late", "");
  waiting.join();
  EXPECT_EQ(server.get("n"), "100");
}

TEST(TcpStore, OtherProtocolsAreShutOut) {
  TcpStore server({.is_master = true});
  const LogSink before = set_log_sink([](const LogLine&) {});
  for (const std::string& bytes :
       {std::string("GET / HTTP/1.1\r\n\r\n"), std::string(kStoreGreeting) + std::string(8, '\xff'),
        std::string(kStoreGreeting) + std::string("\1\0\0\0\0\0\0\0\x7f", 9),
        std::string(kStoreGreeting) + std::string("\1\0\0\0\0\0\0\0\2", 9)}) {
    const Deadline deadline(std::chrono::seconds(10));
    const Descriptor connection = connect_to({"localhost", server.port()}, deadline);
    send_all(connection, bytes, deadline);
    char answer = 0;
    expect_contains(message_of<DistError>([&] { receive_all(connection, {&answer, 1}, deadline); }),
                    {"closed"});
  }
  server.set("k", "v");
  EXPECT_EQ(server.get("k"), "v");
  set_log_sink(before);
}

TEST(TcpStore, AClientThatDoesNotReadIsShutOut) {
  TcpStore server({.is_master = true});
  server.set("long", std::string(size_t{20} << 20, 'x'));
  const LogSink before = set_log_sink([](const LogLine&) {});
  const Deadline deadline(std::chrono::seconds(30));
  const Descriptor connection = connect_to({"localhost", server.port()}, deadline);
  const std::string request = bytes_of(StoreMessage{StoreMessageKind::get, {"1000", "long"}});
  expect_contains(message_of<DistError>([&] {
                    send_all(connection, kStoreGreeting, deadline);
                    for (int i = 0; i < 100'000; ++i) send_all(connection, request, deadline);
                    std::string answer(size_t{21} << 20, 0);
                    for (int i = 0; i < 100'000; ++i) receive_all(connection, answer, deadline);
                  }),
                  {"closed"});
  set_log_sink(before);
}

TEST(TcpStore, AServerThatDoesNotAnswerIsLate) {
  const Descriptor silent = listen_at({"localhost", 0});
  TcpStore store({.port = port_of(silent), .timeout = kPause});
  const auto begin = std::chrono::steady_clock::now();
  expect_contains(message_of<DistError>([&] { store.set("k", "v"); }), {"does not answer"});
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
}

// The server cannot tell if it is counted last.
TEST(TcpStore, WorldsOfOtherSizes) {
  std::string text;
  for (int round = 0; round < 20 && text.empty(); ++round) {
    const uint16_t port = free_port();
    std::thread client([&] {
      const TcpStore connected({.port = port});
      std::this_thread::sleep_for(kPause);
      try {
        TcpStore({.port = port, .world_size = 3, .wait_for_workers = false, .timeout = kPause});
      } catch (const DistError&) {  // the server has ended
      }
    });
    try {
      TcpStore({.port = port, .is_master = true, .world_size = 2, .timeout = Duration(500)});
    } catch (const DistError& error) {
      text = error.what();
    }
    client.join();
  }
  expect_contains(text, {"2 processes connected", "do not say the same world_size"});
}

TEST(TcpStore, AForkedProcessMakesItsOwn) {
  TcpStore server({.is_master = true});
  const pid_t child = ::fork();
  if (child == 0) {
    int status = 1;
    try {
      server.set("k", "v");
    } catch (const DistError&) {
      TcpStore own(client_of(server));
      own.set("k", "of the child");
      status = 0;
    }
    ::_exit(status);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(server.get("k"), "of the child");
}

TEST(TcpStore, WaitsCanBeInterrupted) {
  TcpStore server({.is_master = true});
  set_interruption_check([] { throw CheckError("interrupted"); });
  EXPECT_THROW(server.get("never"), CheckError);
  set_interruption_check(nullptr);
  server.set("k", "v");
  EXPECT_EQ(server.get("k"), "v");
}

TEST(StoreMessage, ReadsWhatItWrites) {
  const StoreMessage message{StoreMessageKind::set, {"", std::string("a\0b", 3), "c"}};
  const std::string bytes = bytes_of(message);
  EXPECT_EQ(size_of_message(bytes), bytes.size() - kStoreMessageHead);
  const StoreMessage read = read_message(std::string_view(bytes).substr(kStoreMessageHead));
  EXPECT_EQ(read.kind, message.kind);
  EXPECT_EQ(read.fields, message.fields);
}

}  // namespace
}  // namespace plait::dist
