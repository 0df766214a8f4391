#include "serve/queue/objects.h"

#include <fcntl.h>
#include <openssl/evp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <memory>

namespace sardonyx::serve {

std::string sha256_of(const std::vector<std::string_view>& pieces) {
  const std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> hash(EVP_MD_CTX_new(), EVP_MD_CTX_free);
  EVP_DigestInit_ex(hash.get(), EVP_sha256(), nullptr);
  for (const std::string_view piece : pieces)
    EVP_DigestUpdate(hash.get(), piece.data(), piece.size());
  unsigned char digest[32];
  EVP_DigestFinal_ex(hash.get(), digest, nullptr);
  static constexpr char kHex[] = "0123456789abcdef";
  std::string text;
  for (const unsigned char byte : digest) {
    text += kHex[byte >> 4];
    text += kHex[byte & 15];
  }
  return text;
}

Outcome<StoredObject> store_object(const std::string& folder,
                                   const std::vector<std::string_view>& pieces) {
  StoredObject object;
  object.sha256 = sha256_of(pieces);
  for (const std::string_view piece : pieces) object.bytes += piece.size();
  object.file = folder + "/" + object.sha256;
  struct stat there {};
  if (stat(object.file.c_str(), &there) == 0 && size_t(there.st_size) == object.bytes)
    return object;
  static std::atomic<unsigned> count{0};
  const std::string temporary = folder + "/." + object.sha256 + "." + std::to_string(getpid()) +
                                "." + std::to_string(count++);
  const int fd = open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  bool done = fd >= 0;
  for (std::string_view piece : pieces) {
    while (done && !piece.empty()) {
      const ssize_t written = write(fd, piece.data(), piece.size());
      if (written < 0 && errno == EINTR) continue;
      done = written >= 0;
      if (done) piece.remove_prefix(size_t(written));
    }
  }
  done = done && fsync(fd) == 0;
  int reason = errno;
  if (fd >= 0 && close(fd) != 0 && done) done = false, reason = errno;
  if (done && rename(temporary.c_str(), object.file.c_str()) != 0) done = false, reason = errno;
  if (!done) {
    unlink(temporary.c_str());
    return Failure{Kind::unavailable,
                   "SDX-V0610: " + object.file + " cannot be written: " + std::strerror(reason)};
  }
  if (const int at = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); at >= 0) {
    fsync(at);
    close(at);
  }
  return object;
}

}  // namespace sardonyx::serve
