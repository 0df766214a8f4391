#include "convert.h"

#include <pybind11/stl.h>

#include <algorithm>

namespace sdx::python {
namespace {

// numpy's numbers of its own types.
constexpr DType kNumbered[] = {
    DType::boolean,    // bool
    DType::i8,         // byte
    DType::u8,         // ubyte
    DType::i16,        // short
    DType::u16,        // ushort
    DType::i32,        // int
    DType::u32,        // uint
    DType::i64,        // long
    DType::u64,        // ulong
    DType::i64,        // longlong
    DType::u64,        // ulonglong
    DType::f32,        // float
    DType::f64,        // double
    DType::undefined,  // long double
    DType::c64,        // cfloat
    DType::c128,       // cdouble
    DType::undefined,  // clongdouble
    DType::string,     // object
    DType::string,     // bytes
    DType::string,     // unicode
    DType::undefined,  // void
    DType::undefined,  // datetime64
    DType::undefined,  // timedelta64
    DType::f16,        // half
};

// sardonyx._dtypes knows the types that numpy has not: a list by number, and the way back.
py::handle dtypes_module() {
  static const auto* const module = new py::module_(py::module_::import("sardonyx._dtypes"));
  return *module;
}

Error not_taken(const py::handle& object, const Fact& expected) {
  return fail("SDX-P0001", "a Python object of type {} cannot become {}",
              std::string(py::str(py::type::of(object).attr("__name__"))), expected.text());
}

// Keeps a Python object alive for as long as the engine uses its memory.
std::shared_ptr<const void> owner_of(PyObject* object) {
  Py_INCREF(object);
  return {object, [](const void* held) {
            if (Py_IsInitialized() == 0) return;
            const PyGILState_STATE state = PyGILState_Ensure();
            Py_DECREF(static_cast<PyObject*>(const_cast<void*>(held)));
            PyGILState_Release(state);
          }};
}

std::string text_from(py::handle item) {
  char* data = nullptr;
  Py_ssize_t size = 0;
  if (PyBytes_Check(item.ptr()) != 0) {
    PyBytes_AsStringAndSize(item.ptr(), &data, &size);
    return {data, static_cast<size_t>(size)};
  }
  if (PyUnicode_Check(item.ptr()) == 0) {
    throw Failure{fail("SDX-P0002", "an element of an array of strings is a {}",
                       std::string(py::str(py::type::of(item).attr("__name__"))))};
  }
  const auto bytes = py::reinterpret_steal<py::bytes>(
      PyUnicode_AsEncodedString(item.ptr(), "utf-8", "surrogateescape"));
  if (!bytes) throw py::error_already_set();
  return bytes;
}

py::object text_to(const std::string& text) {
  return py::reinterpret_steal<py::object>(
      PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "surrogateescape"));
}

}  // namespace

py::str readable(std::string_view text) {
  return py::reinterpret_steal<py::str>(
      PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "backslashreplace"));
}

namespace {

Dims dims_of(const py::array& array) { return {array.shape(), array.shape() + array.ndim()}; }

Tensor strings_from(const py::array& array) {
  Tensor tensor = Tensor::make(DType::string, dims_of(array));
  std::string* into = tensor.data<std::string>();
  for (const py::handle item : py::list(array.attr("ravel")().attr("tolist")())) {
    *into++ = text_from(item);
  }
  return tensor;
}

// Elements of less than a byte come one to a byte and are packed.
Tensor packed_from(DType type, const py::array& array) {
  Tensor tensor = Tensor::make(type, dims_of(array));
  const auto* bytes = static_cast<const uint8_t*>(array.data());
  for (size_t i = 0; i < tensor.count(); ++i) set_bits(type, tensor.raw(), i, bytes[i]);
  return tensor;
}

// What an array of `found` means where `wanted` is asked for: bits of types that numpy has not come
// as unsigned integers of their size.
DType meant(DType found, DType wanted) {
  if (found == wanted || wanted == DType::undefined) return found;
  if (found == DType::u16 && wanted == DType::bf16) return wanted;
  if (found == DType::u8 && bits(wanted) <= 8 && is_float(wanted)) return wanted;
  if ((found == DType::u8 || found == DType::i8) && is_packed(wanted)) return wanted;
  return found;
}

Value from_array(py::array array, const Fact& expected) {
  const DType found = dtype_of(array.dtype());
  if (found == DType::undefined) {
    throw Failure{fail("SDX-P0003", "no element type is like numpy's {}",
                       std::string(py::str(array.dtype())))};
  }
  if (found == DType::string) return strings_from(array);
  const auto* proxy = py::detail::array_proxy(array.ptr());
  const int good =
      py::detail::npy_api::NPY_ARRAY_C_CONTIGUOUS_ | py::detail::npy_api::NPY_ARRAY_ALIGNED_;
  const char order = py::detail::array_descriptor_proxy(proxy->descr)->byteorder;
  if ((proxy->flags & good) != good || order == '>') {
    array = py::array(py::module_::import("numpy").attr("ascontiguousarray")(
        array, array.dtype().attr("newbyteorder")("=")));
  }
  const DType type = meant(found, expected.is_tensor() ? expected.type : DType::undefined);
  if (is_packed(type)) return packed_from(type, array);
  Tensor tensor = Tensor::over(type, dims_of(array), owner_of(array.ptr()), array.data());
  if (type == DType::boolean) {
    const auto* bytes = tensor.data<uint8_t>();
    if (!std::all_of(bytes, bytes + tensor.count(), [](uint8_t b) { return b <= 1; })) {
      throw Failure{fail("SDX-P0004", "an element of a bool array is neither 0 nor 1")};
    }
  }
  return tensor;
}

Value from_dict(const py::dict& dict, const Fact& expected) {
  const Fact item = expected.element ? *expected.element : Fact{};
  Map map;
  for (const auto& [key, value] : dict) {
    Value made = to_value(value, item);
    if (PyLong_Check(key.ptr()) != 0 || py::hasattr(key, "__index__")) {
      map.emplace(py::cast<int64_t>(py::int_(py::reinterpret_borrow<py::object>(key))),
                  std::move(made));
    } else {
      map.emplace(text_from(key), std::move(made));
    }
  }
  return Value::of(std::move(map));
}

Value from_items(const py::sequence& items, const Fact& expected) {
  const Fact item = expected.element ? *expected.element : Fact{};
  Sequence sequence;
  for (const py::handle object : items) sequence.push_back(to_value(object, item));
  return Value::of(std::move(sequence));
}

// Numbers, strings, nested lists, and whatever knows how to become an array.
Value through_numpy(py::handle object, const Fact& expected) {
  const py::module_ numpy = py::module_::import("numpy");
  if (py::hasattr(object, "__dlpack__") && !py::hasattr(object, "__array__")) {
    return from_array(py::array(numpy.attr("from_dlpack")(object)), expected);
  }
  const DType type = expected.is_tensor() ? expected.type : DType::undefined;
  const bool plain = type != DType::undefined && !py::hasattr(object, "__array__");
  py::object array = plain ? numpy.attr("asarray")(
                                 object, type == DType::string ? py::dtype("O") : numpy_type(type))
                           : numpy.attr("asarray")(object);
  return from_array(py::array(std::move(array)), expected);
}

py::array strings_to(const Tensor& tensor) {
  const py::object array =
      py::module_::import("numpy").attr("empty")(tensor.count(), py::dtype("O"));
  size_t i = 0;
  for (const std::string& text : tensor.values<std::string>()) {
    array.attr("__setitem__")(i++, text_to(text));
  }
  return py::array(array.attr("reshape")(py::tuple(py::cast(tensor.dims()))));
}

py::array unpacked(const Tensor& tensor) {
  const bool integer = is_integer(tensor.type()) && is_signed(tensor.type());
  py::array array(numpy_type(tensor.type()), tensor.dims());
  auto* bytes = static_cast<uint8_t*>(array.mutable_data());
  for (size_t i = 0; i < tensor.count(); ++i) {
    bytes[i] = integer ? static_cast<uint8_t>(get_i64(tensor.type(), tensor.raw(), i))
                       : static_cast<uint8_t>(get_bits(tensor.type(), tensor.raw(), i));
  }
  return array;
}

py::array array_of(const Tensor& tensor) {
  if (tensor.type() == DType::string) return strings_to(tensor);
  if (is_packed(tensor.type())) return unpacked(tensor);
  const py::capsule owner(new Tensor(tensor),
                          [](void* held) { delete static_cast<Tensor*>(held); });
  return {numpy_type(tensor.type()), tensor.dims(), tensor.raw(), owner};
}

}  // namespace

DType dtype_of(const py::dtype& dtype) {
  const auto* proxy = py::detail::array_descriptor_proxy(dtype.ptr());
  const bool plain = proxy->names == nullptr || proxy->names == Py_None;
  if (plain && proxy->type_num >= 0 && size_t(proxy->type_num) < std::size(kNumbered)) {
    return kNumbered[proxy->type_num];
  }
  return static_cast<DType>(py::cast<int>(dtypes_module().attr("number_of")(dtype)));
}

py::dtype numpy_type(DType type) {
  // Made once, for the life of the process.
  static auto* const table = new std::vector<py::dtype>([] {
    std::vector<py::dtype> made;
    for (const py::handle dtype : dtypes_module().attr("TABLE")) {
      made.push_back(py::reinterpret_borrow<py::dtype>(dtype));
    }
    return made;
  }());
  return (*table)[static_cast<size_t>(type)];
}

Value to_value(py::handle object, const Fact& expected) {
  if (py::isinstance<py::array>(object)) {
    if (expected.kind == Fact::Kind::optional) return to_value(object, *expected.element);
    if (expected.kind == Fact::Kind::sequence) {
      return from_items(py::reinterpret_borrow<py::sequence>(object), expected);
    }
    return from_array(py::reinterpret_borrow<py::array>(object), expected);
  }
  if (object.is_none()) return {};
  if (py::isinstance<Held>(object)) return py::cast<const Held&>(object).value;
  if (py::hasattr(object, "_held")) {
    return py::cast<const Held&>(py::object(object.attr("_held"))).value;
  }
  if (expected.kind == Fact::Kind::optional) return to_value(object, *expected.element);
  if (py::isinstance<py::dict>(object)) {
    return from_dict(py::reinterpret_borrow<py::dict>(object), expected);
  }
  const bool list = py::isinstance<py::list>(object) || py::isinstance<py::tuple>(object);
  if (list && !expected.is_tensor()) {
    return from_items(py::reinterpret_borrow<py::sequence>(object), expected);
  }
  try {
    return through_numpy(object, expected);
  } catch (const py::error_already_set& error) {
    Error wrong = not_taken(object, expected);
    wrong.help = error.what();
    throw Failure{std::move(wrong)};
  }
}

py::object from_value(const Value& value) {
  if (value.is_tensor()) return array_of(value.tensor());
  if (value.is_sequence()) {
    py::list items;
    for (const Value& item : value.sequence()) items.append(from_value(item));
    return items;
  }
  if (value.is_map()) {
    py::dict items;
    for (const auto& [key, item] : value.map()) {
      const auto* text = std::get_if<std::string>(&key);
      const py::object name =
          text != nullptr ? text_to(*text) : py::object(py::int_(std::get<int64_t>(key)));
      py::object made = from_value(item);
      // ONNX-ML's maps hold numbers, and Python's people expect numbers.
      const bool scalar = item.is_tensor() && item.tensor().rank() == 0;
      items[name] = scalar ? py::object(made.attr("item")()) : made;
    }
    return items;
  }
  return py::none();
}

}  // namespace sdx::python
