// What the system alone takes of a request over HTTP/1.1: receives whatever comes and sends the
// bytes of a file, on one thread and one epoll, without a look at them. No server on such sockets
// takes less.
//   floor FILE     prints {"http": PORT}
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

int main(int, char** words) {
  std::ifstream file(words[1], std::ios::binary);
  const std::string answer((std::istreambuf_iterator<char>(file)),
                           std::istreambuf_iterator<char>());
  const int listener = socket(AF_INET, SOCK_STREAM, 0), epoll = epoll_create1(0), one = 1;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  if (bind(listener, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      listen(listener, 128) != 0)
    return 1;
  getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size);
  std::printf("{\"http\": %d}\n", ntohs(address.sin_port));
  std::fflush(stdout);
  const auto watch = [&](int fd) {
    epoll_event event{EPOLLIN | EPOLLRDHUP, {.fd = fd}};
    epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
  };
  watch(listener);
  std::vector<char> bytes(256 << 10);
  std::vector<int> asked;
  while (true) {
    epoll_event events[128];
    const int count = epoll_wait(epoll, events, 128, -1);
    for (int i = 0; i < count; ++i) {
      const int fd = events[i].data.fd;
      if (fd == listener) {
        const int client = accept4(listener, nullptr, nullptr, SOCK_NONBLOCK);
        setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        watch(client);
      } else if (recv(fd, bytes.data(), bytes.size(), 0) > 0) {
        asked.push_back(fd);
      } else {
        close(fd);
      }
    }
    for (const int fd : asked) (void)!send(fd, answer.data(), answer.size(), MSG_NOSIGNAL);
    asked.clear();
  }
}
