// Operators that move, cut, count and resize.
#include <algorithm>

#include "model/tensor.h"
#include "opsets/steps.h"

namespace sdx::opsets {
namespace {

Status concat_4_up(Use& use) {
  if (use.given("axis") == nullptr) use.set("axis", int64_t{1});
  return ok();
}

// --- Constant: one tensor instead of a number, a list or what is not zero

Status constant_12_down(Use& use) {
  for (const model::Attribute& a : use.node.attribute) {
    if (!a.name.starts_with("value_")) continue;
    if (!a.ref_attr_name.empty())
      return use.refuse("its value is the function's attribute \"{}\"", a.ref_attr_name);
    Tensor value;
    const auto count = [](const auto& list) { return Dims{int64_t(list.size())}; };
    if (a.name == "value_float") value = Tensor::scalar<float>(a.f);
    if (a.name == "value_int") value = Tensor::scalar<int64_t>(a.i);
    if (a.name == "value_floats")
      value = Tensor::of<float>(count(a.floats), std::span<const float>(a.floats));
    if (a.name == "value_ints")
      value = Tensor::of<int64_t>(count(a.ints), std::span<const int64_t>(a.ints));
    if (a.name == "value_string") value = Tensor::scalar<std::string>(a.s);
    if (a.name == "value_strings")
      value = Tensor::of<std::string>(count(a.strings), std::span<const std::string>(a.strings));
    use.erase(std::string(a.name));
    use.set("value", std::move(value));
    return ok();
  }
  return ok();
}
Status constant_11_down(Use& use) {
  const model::Attribute* a = use.given("sparse_value");
  if (a == nullptr) return ok();
  SDX_ASSIGN(Tensor dense, model::to_dense(*a->sparse_tensor));
  use.erase("sparse_value");
  use.set("value", std::move(dense));
  return ok();
}

// --- DFT: the axis became an input, and another one if it is left out

Status dft_20_up(Use& use) {
  const int64_t axis = use.integer("axis", 1);
  use.erase("axis");
  use.set_input(2, use.make(Tensor::scalar<int64_t>(axis), "axis"));
  return ok();
}
Status dft_20_down(Use& use) {
  const auto rank = use.rank(0);
  const auto given = use.has(2) ? use.integers(2) : std::optional(std::vector<int64_t>{-2});
  if (!rank || !given || given->size() != 1)
    return use.refuse("there the axis is an attribute counted from the front");
  use.drop_input(2);
  use.set("axis", (*given)[0] < 0 ? (*given)[0] + int64_t(*rank) : (*given)[0]);
  return ok();
}

// --- GridSample: names of the modes

Status grid_sample_20_up(Use& use) {
  if (use.given("mode") == nullptr) return ok();
  const std::string mode = use.text("mode");
  use.set("mode", std::string(mode == "bilinear" ? "linear" : mode == "bicubic" ? "cubic" : mode));
  return ok();
}
Status grid_sample_20_down(Use& use) {
  if (use.rank(0) != 4)
    return use.refuse("there it takes images of rank 4, not {}", use.fact(0).text());
  const std::string mode = use.text("mode");
  use.set("mode", std::string(mode == "linear" ? "bilinear" : mode == "cubic" ? "bicubic" : mode));
  return ok();
}

// --- Pad

Status rename(Use& use, std::string_view from, std::string_view to) {
  const model::Attribute* a = use.given(from);
  if (a == nullptr) return ok();
  const std::vector<int64_t> pads = a->ints;
  use.erase(from);
  use.set(to, pads);
  return ok();
}
Status pad_2_up(Use& use) { return rename(use, "paddings", "pads"); }
Status pad_2_down(Use& use) { return rename(use, "pads", "paddings"); }
Status pad_11_up(Use& use) {
  const model::Attribute* value = use.given("value");
  if (value == nullptr || value->f == 0) {
    use.erase("value");
    return ok();
  }
  const DType type = use.fact(0).type;
  if (type == DType::undefined)
    return use.refuse("the type of \"{}\" is not known", use.node.input[0]);
  Tensor made = Tensor::make(type, {});
  set_f64(type, made.raw(), 0, double(value->f));
  // Input 1 are the pads, which the signatures put there.
  const std::string name = use.make(std::move(made), "value");
  use.erase("value");
  const std::vector<int64_t> pads = use.given("pads")->ints;
  use.erase("pads");
  use.set_input(1, use.make(list_of(pads), "pads"));
  use.set_input(2, name);
  return ok();
}
Status pad_11_down(Use& use) {
  if (!use.has(2)) return ok();
  const Tensor* value = use.constant(2);
  if (value == nullptr || value->count() != 1)
    return use.refuse("there the value is an attribute, and \"{}\" is only known when it runs",
                      use.node.input[2]);
  const double x = get_f64(value->type(), value->raw(), 0);
  if (x == x && double(float(x)) != x)
    return use.refuse("there the value is a float, which {} is not", x);
  use.drop_input(2);
  use.set("value", float(x));
  return ok();
}
Status pad_18_down(Use& use) {
  if (!use.has(3)) return ok();
  const auto axes = use.integers(3), pads = use.integers(1);
  const auto rank = use.rank(0);
  if (!axes || !pads || !rank || pads->size() != 2 * axes->size())
    return use.refuse(
        "there pads are given for all axes, and what is padded is only known when it runs");
  std::vector<int64_t> all(2 * *rank);
  for (size_t i = 0; i < axes->size(); ++i) {
    const size_t axis = size_t((*axes)[i] < 0 ? (*axes)[i] + int64_t(*rank) : (*axes)[i]);
    if (axis >= *rank) return use.refuse("axis {} is not one of {}", (*axes)[i], *rank);
    all[axis] = (*pads)[i];
    all[*rank + axis] = (*pads)[axes->size() + i];
  }
  use.drop_input(3);
  use.set_input(1, use.make(list_of(all), "pads"));
  return ok();
}

// --- Reshape, Shape, Slice, Split, Tile

Status reshape_5_up(Use& use) {
  if (use.given("shape") == nullptr) use.set("shape", std::vector<int64_t>{});
  return ok();
}
Status reshape_14_down(Use& use) {
  if (use.integer("allowzero") == 0) return ok();
  const auto shape = use.integers(1);
  if (!shape || std::find(shape->begin(), shape->end(), 0) != shape->end())
    return use.refuse("there a size of 0 means the input's");
  use.erase("allowzero");
  return ok();
}
// A part of the shape is the shape, cut.
Status shape_15_down(Use& use) {
  const bool cut = use.integer("start") != 0 || use.given("end") != nullptr;
  if (cut) {
    const int64_t end = use.integer("end", INT64_MAX);
    const std::string first = use.make(list_of({use.integer("start")}), "start"),
                      last = use.make(list_of({end}), "end");
    SDX_TRY(use.finish(0, "Slice", {first, last}, {}));
  }
  use.erase("start");
  use.erase("end");
  return ok();
}
Status slice_10_down(Use& use) {
  if (use.has(4)) {
    const auto steps = use.integers(4);
    if (!steps || std::any_of(steps->begin(), steps->end(), [](int64_t s) { return s != 1; }))
      return use.refuse("there it takes every element, and its steps may be others than 1");
    use.drop_input(4);
  }
  const auto axes = use.integers(3);
  if (use.has(3) && axes &&
      std::any_of(axes->begin(), axes->end(), [](int64_t a) { return a < 0; })) {
    if (!use.rank(0))
      return use.refuse("there axes are counted from the front, and the rank is not known");
    std::vector<int64_t> front = *axes;
    for (int64_t& axis : front) axis += axis < 0 ? int64_t(*use.rank(0)) : 0;
    use.set_input(3, use.make(list_of(front), "axes"));
  }
  return ok();
}
// The first version also took the sizes as a tensor of floats.
Status split_2_up(Use& use) {
  if (!use.has(1)) return ok();
  const Tensor* sizes = use.constant(1);
  if (sizes == nullptr) return use.refuse("there the sizes are an attribute");
  std::vector<int64_t> list;
  for (size_t i = 0; i < sizes->count(); ++i)
    list.push_back(int64_t(get_f64(sizes->type(), sizes->raw(), i)));
  use.drop_input(1);
  use.set("split", list);
  return ok();
}
Status split_18_up(Use& use) {
  if (!use.has(1)) use.set("num_outputs", int64_t(use.node.output.size()));
  return ok();
}
Status split_18_down(Use& use) {
  if (use.given("num_outputs") == nullptr) return ok();
  const int64_t parts = use.integer("num_outputs");
  use.erase("num_outputs");
  int64_t axis = use.integer("axis");
  const auto rank = use.rank(0);
  if (rank && axis < 0) axis += int64_t(*rank);
  if (!rank || axis < 0 || size_t(axis) >= *rank || !use.fact(0).dim(size_t(axis)).is_const() ||
      parts < 1)
    return use.refuse("there the parts are of one size, and it is not known whether they are");
  const int64_t size = use.fact(0).dim(size_t(axis)).value(), each = (size + parts - 1) / parts;
  if (size % parts == 0) return ok();
  std::vector<int64_t> sizes(size_t(parts), each);
  sizes.back() = size - each * (parts - 1);
  if (sizes.back() < 0) return use.refuse("{} elements have no {} parts of {}", size, parts, each);
  use.set_input(1, use.make(list_of(sizes), "split"));
  return ok();
}
Status tile_6_up(Use& use) {
  const Tensor *tiles = use.constant(1), *axis = use.constant(2);
  const auto rank = use.rank(0);
  if (tiles == nullptr || axis == nullptr || !rank || tiles->count() != 1 || axis->count() != 1)
    return use.refuse(
        "there repetitions are given for all axes, and what is repeated is not known");
  int64_t at = int64_t(get_f64(axis->type(), axis->raw(), 0));
  if (at < 0) at += int64_t(*rank);
  if (at < 0 || at >= int64_t(*rank)) return use.refuse("axis {} is not one of {}", at, *rank);
  std::vector<int64_t> repeats(*rank, 1);
  repeats[size_t(at)] = int64_t(get_f64(tiles->type(), tiles->raw(), 0));
  use.drop_input(2);
  use.set_input(1, use.make(list_of(repeats), "repeats"));
  return ok();
}
Status tile_6_down(Use& use) {
  const auto repeats = use.integers(1);
  const DType type = use.fact(0).type;
  const auto many = [](int64_t r) { return r != 1; };
  if (!repeats || type == DType::undefined ||
      std::count_if(repeats->begin(), repeats->end(), many) > 1)
    return use.refuse("there it repeats along one axis, known before it runs");
  const size_t axis =
      size_t(std::find_if(repeats->begin(), repeats->end(), many) - repeats->begin());
  const bool none = axis == repeats->size();
  const auto number = [&](double value, const char* hint) {
    Tensor made = Tensor::make(type, {});
    set_f64(type, made.raw(), 0, value);
    return use.make(std::move(made), hint);
  };
  use.drop_input(1);
  use.set_input(1, number(none ? 1 : double((*repeats)[axis]), "tiles"));
  use.set_input(2, number(none ? 0 : double(axis), "axis"));
  return ok();
}

// --- Resize and what it was called before

enum class Scaling { unknown, larger, smaller, mixed };
Scaling scaling(const Use& use, size_t input) {
  const Tensor* scales = use.constant(input);
  if (scales == nullptr) return Scaling::unknown;
  bool larger = false, smaller = false;
  for (size_t i = 0; i < scales->count(); ++i) {
    const double scale = get_f64(scales->type(), scales->raw(), i);
    larger = larger || scale > 1;
    smaller = smaller || scale < 1;
  }
  return larger && smaller ? Scaling::mixed : smaller ? Scaling::smaller : Scaling::larger;
}
std::string no_region(Use& use) { return use.make(Tensor::make(DType::f32, {0}), "roi"); }

Status resize_11_up(Use& use) {
  if (use.text("mode") == "nearest") {
    // The element below when it grows, above when it shrinks.
    const Scaling how = scaling(use, 1);
    if (how == Scaling::unknown || how == Scaling::mixed)
      return use.refuse(
          "whether it grows or shrinks decides which element is nearest, and is not known");
    use.set("nearest_mode", std::string(how == Scaling::larger ? "floor" : "ceil"));
  }
  use.set("coordinate_transformation_mode", std::string("asymmetric"));
  use.node.input.insert(use.node.input.begin() + 1, no_region(use));
  return use.become("Resize", 11);
}
Status resize_11_down(Use& use) {
  if (use.text("coordinate_transformation_mode") != "asymmetric")
    return use.refuse("there coordinates are asymmetric, not {}",
                      use.text("coordinate_transformation_mode"));
  if (use.has(3) || !use.has(2)) return use.refuse("there it takes scales, not sizes");
  if (use.text("mode") == "cubic") return use.refuse("there is no mode \"cubic\"");
  if (use.text("mode") == "nearest") {
    const Scaling how = scaling(use, 2);
    const std::string nearest = use.text("nearest_mode");
    if (!(how == Scaling::larger && nearest == "floor") &&
        !(how == Scaling::smaller && nearest == "ceil"))
      return use.refuse(
          "there the nearest element is that below when it grows and above when it shrinks");
  }
  for (const char* name : {"coordinate_transformation_mode", "nearest_mode", "cubic_coeff_a",
                           "exclude_outside", "extrapolation_value"})
    use.erase(name);
  use.drop_input(1);
  return ok();
}
Status resize_13_down(Use& use) {
  if (!use.has(1)) use.set_input(1, no_region(use));
  if (!use.has(2)) use.set_input(2, use.make(Tensor::make(DType::f32, {0}), "scales"));
  return ok();
}
Status resize_19_down(Use& use) {
  if (use.text("coordinate_transformation_mode") == "half_pixel_symmetric")
    return use.refuse("there is no coordinate_transformation_mode half_pixel_symmetric");
  return ok();
}
Status resize_to_upsample(Use& use) {
  if (scaling(use, 1) != Scaling::larger)
    return use.refuse("there it can only grow, and its scales may be less than 1");
  return use.become("Upsample", 9);
}
Status upsample_10_up(Use& use) {
  if (use.target() == 10) {
    if (use.text("mode") == "nearest" && scaling(use, 1) != Scaling::larger)
      return use.refuse("it is not known whether it grows");
    return use.become("Resize", 10);
  }
  use.set("nearest_mode", std::string("floor"));
  use.set("coordinate_transformation_mode", std::string("asymmetric"));
  use.node.input.insert(use.node.input.begin() + 1, no_region(use));
  return use.become("Resize", 11);
}
Status upsample_7_up(Use& use) {
  const model::Attribute *h = use.given("height_scale"), *w = use.given("width_scale");
  if (h == nullptr || w == nullptr) return use.refuse("it lacks a scale");
  const std::vector<float> scales = {1, 1, h->f, w->f};
  use.erase("height_scale");
  use.erase("width_scale");
  use.set("scales", scales);
  if (use.text("mode") == "bilinear") use.set("mode", std::string("linear"));
  return ok();
}
Status upsample_7_down(Use& use) {
  const model::Attribute* a = use.given("scales");
  if (a == nullptr || a->floats.size() != 4 || a->floats[0] != 1 || a->floats[1] != 1)
    return use.refuse("there it scales the height and width of images");
  const float h = a->floats[2], w = a->floats[3];
  use.erase("scales");
  use.set("height_scale", h);
  use.set("width_scale", w);
  if (use.text("mode") == "linear") use.set("mode", std::string("bilinear"));
  return ok();
}

Status scatter_11_up(Use& use) { return use.become("ScatterElements", 11); }
Status scatter_elements_11_down(Use& use) { return use.become("Scatter", 9); }

Status scan_9(Use& use) {
  return use.refuse(
      "version 8 has a batch and sequences of several lengths, later ones have neither");
}

constexpr Step kTensorSteps[] = {
    {"Concat", 4, concat_4_up, nullptr},
    {"Constant", 11, nullptr, constant_11_down},
    {"Constant", 12, nullptr, constant_12_down},
    {"DFT", 20, dft_20_up, dft_20_down},
    {"GridSample", 20, grid_sample_20_up, grid_sample_20_down},
    {"Pad", 2, pad_2_up, pad_2_down},
    {"Pad", 11, pad_11_up, pad_11_down},
    {"Pad", 18, nullptr, pad_18_down},
    {"Reshape", 5, reshape_5_up, nullptr},
    {"Reshape", 14, nullptr, reshape_14_down},
    {"Resize", 10, nullptr, resize_to_upsample},
    {"Resize", 11, resize_11_up, resize_11_down},
    {"Resize", 13, nullptr, resize_13_down},
    {"Resize", 19, nullptr, resize_19_down},
    {"Scan", 9, scan_9, scan_9},
    {"Scatter", 11, scatter_11_up, nullptr},
    {"ScatterElements", 11, nullptr, scatter_elements_11_down},
    {"Shape", 15, nullptr, shape_15_down},
    {"Slice", 10, nullptr, slice_10_down},
    {"Split", 2, split_2_up, nullptr},
    {"Split", 18, split_18_up, split_18_down},
    {"Tile", 6, tile_6_up, tile_6_down},
    {"Upsample", 7, upsample_7_up, upsample_7_down},
    {"Upsample", 10, upsample_10_up, nullptr},
};

}  // namespace

std::span<const Step> tensor_steps() { return kTensorSteps; }

}  // namespace sdx::opsets
