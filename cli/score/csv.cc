#include "score/csv.h"

#include <algorithm>
#include <charconv>

#include "base/fitting.h"
#include "bytes/file.h"
#include "words.h"

namespace sdx::cli::score {
namespace {

using Fields = std::vector<std::string>;

// Reads lines of fields from text.
class Lines {
 public:
  explicit Lines(std::string_view text) : rest_(text) {
    if (rest_.starts_with("\xef\xbb\xbf")) rest_.remove_prefix(3);
  }
  bool more() const { return !rest_.empty(); }
  size_t number() const { return number_; }  // of the line that next() gave, from 1

  Status next(Fields& fields) {
    fields.clear();
    number_ += 1 + breaks_;
    breaks_ = 0;
    for (;;) {
      SDX_ASSIGN(std::string field, field_from());
      fields.push_back(std::move(field));
      if (!rest_.starts_with(',')) break;
      rest_.remove_prefix(1);
    }
    if (rest_.starts_with("\r\n")) rest_.remove_prefix(1);
    if (!rest_.empty()) rest_.remove_prefix(1);  // the line's end
    return ok();
  }

 private:
  Result<std::string> field_from() {
    if (!rest_.starts_with('"')) {
      const size_t end = std::min(rest_.find_first_of(",\n"), rest_.size());
      std::string_view field = rest_.substr(0, end);
      if (field.ends_with('\r') && (end == rest_.size() || rest_[end] == '\n'))
        field.remove_suffix(1);
      rest_.remove_prefix(end);
      return std::string(field);
    }
    std::string field;
    for (rest_.remove_prefix(1); !rest_.empty(); rest_.remove_prefix(1)) {
      if (rest_[0] == '\n') ++breaks_;
      if (rest_[0] != '"') {
        field += rest_[0];
      } else if (rest_.starts_with("\"\"")) {
        field += '"';
        rest_.remove_prefix(1);
      } else {
        rest_.remove_prefix(1);
        if (rest_.empty() || rest_[0] == ',' || rest_[0] == '\n' || rest_.starts_with("\r\n"))
          return field;
        return fail("SDX-C0120", "line {}: text behind a quoted field", number_);
      }
    }
    return fail("SDX-C0120", "line {}: a quote is not closed", number_);
  }

  std::string_view rest_;
  size_t number_ = 0, breaks_ = 0;
};

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

template <class T>
bool number_from(std::string_view text, T& value) {
  text = trimmed(text);
  if (text.starts_with('+')) text.remove_prefix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size();
}

bool holds(DType type, int64_t value) {
  const size_t width = bits(type);
  if (width == 64) return is_signed(type) || value >= 0;
  if (!is_signed(type)) return value >= 0 && value < int64_t{1} << width;
  return value >= -(int64_t{1} << (width - 1)) && value < int64_t{1} << (width - 1);
}

bool set_field(Tensor& tensor, size_t i, const std::string& field) {
  const DType type = tensor.type();
  if (type == DType::string) {
    tensor.data<std::string>()[i] = field;
    return true;
  }
  if (type == DType::boolean) {
    const std::string_view word = trimmed(field);
    const bool yes = word == "1" || word == "true" || word == "True";
    tensor.data<bool>()[i] = yes;
    return yes || word == "0" || word == "false" || word == "False";
  }
  if (type == DType::u64) return number_from(field, tensor.data<uint64_t>()[i]);
  if (is_float(type)) {
    double value = 0;
    if (!number_from(field, value)) return false;
    set_f64(type, tensor.raw(), i, value);
    return true;
  }
  int64_t value = 0;
  if (!number_from(field, value) || !holds(type, value)) return false;
  set_i64(type, tensor.raw(), i, value);
  return true;
}

// The columns of each input.
Result<std::vector<std::vector<size_t>>> columns_of(const std::vector<RowInput>& inputs,
                                                    const Fields& header, size_t count) {
  std::vector<std::vector<size_t>> columns(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    for (size_t column = 0; column < count; ++column) {
      const bool named = !header.empty() && (header[column] == inputs[i].name ||
                                             header[column].starts_with(inputs[i].name + "."));
      if (inputs.size() == 1 || named) columns[i].push_back(column);
    }
    if (columns[i].empty()) return not_among("SDX-C0121", "no column", inputs[i].name, header);
  }
  return columns;
}

// A row's shape: open sizes are only clear if there is one of them.
Result<Dims> shape_of(const RowInput& input, int64_t rows, size_t columns) {
  if (is_complex(input.type) || is_packed(input.type))
    return fail("SDX-C0122", "input \"{}\" is {}, which has no form as text", input.name,
                onnx_name(input.type));
  Dims dims = {rows};
  dims.insert(dims.end(), input.row.begin(), input.row.end());
  int64_t known = 1;
  for (const int64_t size : input.row) known *= std::max<int64_t>(size, -size);
  const auto open = std::count(input.row.begin(), input.row.end(), -1);
  for (int64_t& size : dims) {
    if (size < 0 && open == 1 && known > 0) size = int64_t(columns) / known;
  }
  int64_t product = 1;
  for (size_t i = 1; i < dims.size(); ++i) product *= dims[i];
  if (open > 1 || product != int64_t(columns))
    return fail("SDX-C0123", "input \"{}\" takes rows of {}{} elements, the file has {} columns",
                input.name, known, open > 0 ? " times some" : "", columns);
  return dims;
}

}  // namespace

Result<std::vector<Tensor>> read_csv(const std::string& path, const std::vector<RowInput>& inputs) {
  SDX_ASSIGN(const auto file, MappedFile::open(path, fitting(uint64_t{64} << 30)));
  const std::string_view text(reinterpret_cast<const char*>(file->bytes().data()),
                              file->bytes().size());
  Lines lines(text);
  Fields fields, header;
  if (lines.more()) SDX_TRY(lines.next(fields));
  double ignored = 0;
  const bool named = !std::all_of(fields.begin(), fields.end(), [&](const std::string& field) {
    return number_from(field, ignored);
  });
  if (named) header = fields;
  const size_t width = fields.size();
  SDX_ASSIGN(const auto columns, columns_of(inputs, header, width));
  // A line is at least a line's end: no more rows than bytes.
  const int64_t most = 1 + std::count(text.begin(), text.end(), '\n');
  std::vector<Tensor> tensors;
  std::vector<Dims> shapes;
  for (size_t i = 0; i < inputs.size(); ++i) {
    SDX_ASSIGN(Dims dims, shape_of(inputs[i], most, columns[i].size()));
    SDX_TRY(element_count(dims));
    tensors.push_back(Tensor::make(inputs[i].type, dims));
    shapes.push_back(std::move(dims));
  }
  int64_t row = 0;
  for (bool given = !named && width > 0; given || lines.more(); given = false) {
    if (!given) SDX_TRY(lines.next(fields));
    if (fields.size() == 1 && fields[0].empty() && width > 1) continue;  // an empty line
    if (fields.size() != width)
      return fail("SDX-C0124", "line {} has {} fields, the first has {}", lines.number(),
                  fields.size(), width);
    for (size_t i = 0; i < inputs.size(); ++i) {
      for (size_t at = 0; at < columns[i].size(); ++at) {
        const std::string& field = fields[columns[i][at]];
        if (!set_field(tensors[i], size_t(row) * columns[i].size() + at, field))
          return fail("SDX-C0125", "line {}, column {}: \"{}\" is no {}", lines.number(),
                      columns[i][at] + 1, field.substr(0, 40), onnx_name(inputs[i].type));
      }
    }
    ++row;
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    shapes[i][0] = row;
    tensors[i] = tensors[i].part(0, inputs[i].type, shapes[i]);
  }
  return tensors;
}

}  // namespace sdx::cli::score
