#include "serve/model/file_digest.h"

#include <openssl/evp.h>

#include <cstdio>
#include <memory>
#include <vector>

namespace sardonyx::serve {

std::string file_sha256(const std::string& path) {
  const std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen(path.c_str(), "rb"), std::fclose);
  if (!file) return "";
  const std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> hash(EVP_MD_CTX_new(), EVP_MD_CTX_free);
  EVP_DigestInit_ex(hash.get(), EVP_sha256(), nullptr);
  std::vector<char> part(1 << 20);
  for (size_t count = 0; (count = std::fread(part.data(), 1, part.size(), file.get())) > 0;) {
    EVP_DigestUpdate(hash.get(), part.data(), count);
  }
  if (std::ferror(file.get()) != 0) return "";
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

}  // namespace sardonyx::serve
