// JPEG through libjpeg: the accurate integer transform and smooth chroma upsampling, its defaults.
#ifdef SDX_WITH_JPEG
#include <csetjmp>
#include <cstdio>

#include "ops/image/decode.h"
// After <cstdio>, which it does not include by itself.
#include <jerror.h>
#include <jpeglib.h>

namespace sdx::image {
namespace {

// A progressive file may hold any number of scans, each of a few bytes and a walk over the picture.
constexpr int kMostScans = 100;
constexpr long kMostMemory = 1L << 31;

// libjpeg reports errors by longjmp: the functions that call it own nothing but what lies here.
struct Job {
  jpeg_decompress_struct jpeg;
  jpeg_error_mgr errors;
  jpeg_progress_mgr progress;
  jpeg_source_mgr source;
  std::jmp_buf escape;
  Reason reason;
  bool made = false;

  ~Job() {
    if (made) jpeg_destroy_decompress(&jpeg);
  }
};

Job& job_of(j_common_ptr jpeg) { return *static_cast<Job*>(jpeg->client_data); }

[[noreturn]] void give_up(j_common_ptr jpeg) {
  char text[JMSG_LENGTH_MAX];
  jpeg->err->format_message(jpeg, text);
  job_of(jpeg).reason.set(text);
  std::longjmp(job_of(jpeg).escape, 1);
}
[[noreturn]] void give_up(Job& job, std::string_view reason) {
  job.reason.set(reason);
  std::longjmp(job.escape, 1);
}

// libjpeg would fill up the picture when a marker comes before all of its data; other warnings are
// harmless.
void warn(j_common_ptr jpeg, int level) {
  if (level < 0 && jpeg->err->msg_code == JWRN_HIT_MARKER) give_up(jpeg);
}

boolean no_more_bytes(j_decompress_ptr jpeg) {
  give_up(job_of(j_common_ptr(jpeg)), "the data ends early");
}

void skip(j_decompress_ptr jpeg, long count) {
  if (count <= 0) return;
  if (size_t(count) > jpeg->src->bytes_in_buffer) no_more_bytes(jpeg);
  jpeg->src->next_input_byte += count;
  jpeg->src->bytes_in_buffer -= size_t(count);
}

void count_scans(j_common_ptr jpeg) {
  if (j_decompress_ptr(jpeg)->input_scan_number > kMostScans) {
    give_up(job_of(jpeg), "too many scans");
  }
}

bool read_header(Job& job, Encoded file) {
  job.jpeg = {};
  job.jpeg.err = jpeg_std_error(&job.errors);
  job.errors.error_exit = give_up;
  job.errors.emit_message = warn;
  job.errors.output_message = [](j_common_ptr) {};
  job.jpeg.client_data = &job;
  if (setjmp(job.escape) != 0) return false;
  jpeg_create_decompress(&job.jpeg);
  job.made = true;
  job.jpeg.mem->max_memory_to_use = kMostMemory;
  job.progress = {};
  job.progress.progress_monitor = count_scans;
  job.jpeg.progress = &job.progress;
  job.source = {};
  job.source.next_input_byte = reinterpret_cast<const JOCTET*>(file.data());
  job.source.bytes_in_buffer = file.size();
  job.source.init_source = [](j_decompress_ptr) {};
  job.source.fill_input_buffer = no_more_bytes;
  job.source.skip_input_data = skip;
  job.source.resync_to_restart = jpeg_resync_to_restart;
  job.source.term_source = [](j_decompress_ptr) {};
  job.jpeg.src = &job.source;
  jpeg_read_header(&job.jpeg, TRUE);
  switch (job.jpeg.jpeg_color_space) {
    case JCS_GRAYSCALE:
      job.jpeg.out_color_space = JCS_GRAYSCALE;
      return true;
    case JCS_RGB:
    case JCS_YCbCr:
      job.jpeg.out_color_space = JCS_RGB;
      return true;
    case JCS_CMYK:
    case JCS_YCCK:
      job.jpeg.out_color_space = JCS_CMYK;
      return true;
    default:
      job.reason.set("unknown colour space");
      return false;
  }
}

// Inks are stored inverted, as all writers of such files do: 255 is no ink.
void cmyk_to_rgb(const uint8_t* cmyk, uint8_t* rgb, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    const unsigned light = cmyk[4 * i + 3];
    for (size_t c = 0; c < 3; ++c) {
      const unsigned ink = (255u - cmyk[4 * i + c]) * light + 128;
      rgb[3 * i + c] = uint8_t(light - (((ink >> 8) + ink) >> 8));
    }
  }
}

bool read_rows(Job& job, uint8_t* pixels, size_t stride, uint8_t* four) {
  if (setjmp(job.escape) != 0) return false;
  jpeg_start_decompress(&job.jpeg);
  while (job.jpeg.output_scanline < job.jpeg.output_height) {
    uint8_t* row = pixels + job.jpeg.output_scanline * stride;
    JSAMPROW target = four == nullptr ? row : four;
    jpeg_read_scanlines(&job.jpeg, &target, 1);
    if (four != nullptr) cmyk_to_rgb(four, row, stride / 3);
  }
  return true;
}

}  // namespace

Result<Picture> decode_jpeg(Encoded file) {
  constexpr std::string_view kName = "JPEG";
  Job job;
  if (!read_header(job, file)) return broken(kName, job.reason.or_else("bad header"));
  const bool grey = job.jpeg.out_color_space == JCS_GRAYSCALE;
  SDX_ASSIGN(Picture picture,
             make_picture(kName, job.jpeg.image_width, job.jpeg.image_height, grey ? 1 : 3));
  std::unique_ptr<uint8_t[]> four;
  if (job.jpeg.out_color_space == JCS_CMYK) {
    four = std::make_unique<uint8_t[]>(4 * picture.width);
  }
  if (!read_rows(job, picture.pixels.get(), picture.stride(), four.get())) {
    return broken(kName, job.reason.or_else("bad data"));
  }
  return picture;
}

}  // namespace sdx::image
#endif
