#include "npy.h"

#include <algorithm>
#include <charconv>

#include "base/endian.h"
#include "base/fitting.h"
#include "bytes/file.h"

namespace sdx::cli {
namespace {

struct NumpyKind {
  std::string_view descr;
  DType type;
};
constexpr NumpyKind kKinds[] = {{"<f4", DType::f32}, {"<f8", DType::f64},  {"<f2", DType::f16},
                                {"|i1", DType::i8},  {"<i2", DType::i16},  {"<i4", DType::i32},
                                {"<i8", DType::i64}, {"|u1", DType::u8},   {"<u2", DType::u16},
                                {"<u4", DType::u32}, {"<u8", DType::u64},  {"|b1", DType::boolean},
                                {"<c8", DType::c64}, {"<c16", DType::c128}};

// The text after "'key':" of the header, which is a Python dictionary in one fixed form.
std::string_view entry(std::string_view header, std::string_view key) {
  const std::string quoted = fmt::format("'{}':", key);
  const size_t at = header.find(quoted);
  if (at == std::string_view::npos) return {};
  header.remove_prefix(at + quoted.size());
  header.remove_prefix(std::min(header.find_first_not_of(' '), header.size()));
  return header;
}

Result<Dims> shape_of(std::string_view text) {
  const auto bad = [] { return fail("SDX-C0021", "the header has no shape like (2, 3)"); };
  if (!text.starts_with('(')) return bad();
  Dims dims;
  text.remove_prefix(1);
  for (;;) {
    text.remove_prefix(std::min(text.find_first_not_of(", "), text.size()));
    if (text.starts_with(')')) return dims;
    int64_t size = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), size);
    if (error != std::errc{} || dims.size() > 64) return bad();
    text.remove_prefix(static_cast<size_t>(end - text.data()));
    dims.push_back(size);
  }
}

struct Header {
  DType type;
  Dims dims;
  size_t end;  // where the elements begin
};

// `all`: a file of `whole` bytes, or its beginning.
Result<Header> header_of(std::string_view all, size_t whole) {
  if (!all.starts_with("\x93NUMPY") || all.size() < 12) return fail("SDX-C0020", "not a .npy file");
  const auto byte = [&](size_t i) { return static_cast<size_t>(static_cast<uint8_t>(all[i])); };
  const bool old = byte(6) == 1;
  const size_t start = old ? 10 : 12;
  const size_t size =
      old ? byte(8) | byte(9) << 8 : byte(8) | byte(9) << 8 | byte(10) << 16 | byte(11) << 24;
  if (byte(6) < 1 || byte(6) > 3 || size > all.size() - start) {
    return fail("SDX-C0020", "not a .npy file of version 1, 2 or 3");
  }
  const std::string_view header = all.substr(start, size);
  if (!entry(header, "fortran_order").starts_with("False")) {
    Error error = fail("SDX-C0022", "the array is not stored row by row");
    error.help = "save numpy.ascontiguousarray(x)";
    return error;
  }
  SDX_ASSIGN(Dims dims, shape_of(entry(header, "shape")));
  SDX_ASSIGN(const size_t count, element_count(dims));
  const std::string_view descr = entry(header, "descr");
  for (const NumpyKind& kind : kKinds) {
    if (!descr.starts_with(fmt::format("'{}'", kind.descr))) continue;
    const size_t end = start + size;
    if (whole - end != bytes_for(kind.type, count)) {
      return fail("SDX-C0023", "{} bytes of elements; {} of {} needs {}", whole - end,
                  to_string(dims), onnx_name(kind.type), bytes_for(kind.type, count));
    }
    return Header{kind.type, std::move(dims), end};
  }
  Error error = fail("SDX-C0024", "element type {} is not one that models take",
                     descr.substr(0, descr.find(',')));
  if (descr.starts_with("'>"))
    error.help =
        "its bytes are in the order of another machine; save x.astype(x.dtype.newbyteorder('<'))";
  return error;
}

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

Status check_npy(std::span<const std::byte> beginning, size_t whole) {
  SDX_TRY(header_of(text_of(beginning), whole));
  return ok();
}

Result<Tensor> parse_npy(std::span<const std::byte> bytes, std::shared_ptr<const void> owner) {
  SDX_ASSIGN(Header header, header_of(text_of(bytes), bytes.size()));
  const std::string_view data = text_of(bytes).substr(header.end);
  const auto is_bool = [](char c) { return c == 0 || c == 1; };
  if (header.type == DType::boolean && !std::all_of(data.begin(), data.end(), is_bool)) {
    return fail("SDX-C0023", "an element of a bool array is neither 0 nor 1");
  }
  // Headers are padded so that elements are aligned; a file whose header is not gets a copy that
  // is.
  if (kMemoryIsLittle && reinterpret_cast<uintptr_t>(data.data()) % 16 == 0)
    return Tensor::over(header.type, header.dims, std::move(owner), data.data());
  Tensor copy = Tensor::make(header.type, std::move(header.dims));
  if (!data.empty()) std::memcpy(copy.raw(), data.data(), data.size());
  if constexpr (!kMemoryIsLittle) turn_elements(copy.type(), copy.raw(), copy.bytes());
  return copy;
}

Result<Tensor> read_npy(const std::string& path) {
  SDX_ASSIGN(const auto file, MappedFile::open(path, fitting(uint64_t{64} << 30)));
  Result<Tensor> tensor = parse_npy(file->bytes(), file);
  if (!tensor) return std::move(tensor).error().in(path);
  return tensor;
}

Result<std::string> npy_header(const Tensor& tensor) {
  const auto kind = std::find_if(std::begin(kKinds), std::end(kKinds),
                                 [&](const NumpyKind& kind) { return kind.type == tensor.type(); });
  if (kind == std::end(kKinds)) {
    Error error = fail("SDX-C0025", "{} has no place in a .npy file", onnx_name(tensor.type()));
    error.help = "--format pb holds every type";
    return error;
  }
  std::string shape;
  for (const int64_t size : tensor.dims()) shape += fmt::format("{}, ", size);
  if (tensor.rank() > 1) shape.resize(shape.size() - 2);
  std::string header =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", kind->descr,
                  tensor.rank() == 1 ? shape.substr(0, shape.size() - 1) : shape);
  constexpr size_t kPrefix = 10, kAligned = 64;
  const size_t total = (kPrefix + header.size() + 1 + kAligned - 1) / kAligned * kAligned;
  header.resize(total - kPrefix - 1, ' ');
  header += '\n';
  std::string text("\x93NUMPY\x01\x00", 8);
  text += static_cast<char>(header.size() & 0xff);
  text += static_cast<char>(header.size() >> 8);
  return text + header;
}

Status write_npy(const Tensor& tensor, const std::string& path) {
  SDX_ASSIGN(const std::string header, npy_header(tensor));
  SDX_ASSIGN(const auto file, FileWriter::create(path));
  SDX_TRY(file->write(std::as_bytes(std::span(header))));
  std::shared_ptr<void> held;
  SDX_TRY(file->write(
      {elements_for_file(tensor.type(), tensor.raw(), tensor.bytes(), held), tensor.bytes()}));
  return file->commit();
}

}  // namespace sdx::cli
