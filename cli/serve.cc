// sardonyx serve, and recorded requests for `verify`: the doors to the server's room.
#include <serve/record.h>
#include <serve/server.h>

#include <cstdio>

#include "bounds.h"
#include "serving.h"

namespace sdx::cli {
namespace {

using sardonyx::serve::ServerSettings;

// What is not given is left to the file of settings.
struct Flags {
  std::string models, config, host, pack_cache, certificate, key, authority, record, otlp;
  int port = -1, threads = -1, reactors = -1, workers = -1;
  bool model_control = false, shared_memory = false;
};

void set(std::string& to, const std::string& given) {
  if (!given.empty()) to = given;
}

int complain(const sardonyx::serve::Failure& failure) {
  std::fprintf(stderr, "error: %s\n", failure.message.c_str());
  return kUnreadable;
}

int run(const Flags& flags) {
  ServerSettings settings;
  if (!flags.config.empty()) {
    if (const auto failure = settings.read_file(flags.config)) return complain(*failure);
  }
  settings.models = flags.models;
  set(settings.host, flags.host);
  set(settings.pack_cache, flags.pack_cache);
  set(settings.tls.certificate, flags.certificate);
  set(settings.tls.key, flags.key);
  set(settings.tls.client_authority, flags.authority);
  set(settings.record, flags.record);
  set(settings.otlp, flags.otlp);
  if (flags.port >= 0) settings.port = flags.port;
  if (flags.threads >= 0) settings.defaults.threads = flags.threads;
  if (flags.reactors >= 0) settings.reactors = static_cast<size_t>(flags.reactors);
  if (flags.workers >= 0) settings.workers = static_cast<size_t>(flags.workers);
  if (flags.model_control) settings.model_control = true;
  if (flags.shared_memory) settings.shared_memory = true;
  if (wants_sandbox() && !settings.otlp.empty()) {
    return report(
        fail("SDX-C0083", "--sandbox: a server in it cannot send spans; leave out --otlp"));
  }
  const auto confine = [&]() -> std::string {
    Sandbox sandbox = sandbox_of({settings.models, settings.tls.certificate, settings.tls.key,
                                  settings.tls.client_authority},
                                 {settings.record});
    if (settings.pack_cache == "beside") sandbox.writable.push_back(settings.models);
    if (settings.pack_cache != "beside" && settings.pack_cache != "off")
      sandbox.writable.push_back(settings.pack_cache);
    if (settings.shared_memory) sandbox.writable.push_back("/dev/shm");
    sandbox.serves = true;
    const Status status = enter_sandbox(sandbox);
    return status ? "" : status.error().text();
  };
  return sardonyx::serve::serve(settings, confine);
}

}  // namespace

Command serve_command(CommandLine program) {
  const CommandLine app = program.command("serve", "answer inferences over HTTP and gRPC");
  auto flags = std::make_shared<Flags>();
  app.option("--models", flags->models, "the folder of models").required().existing_folder();
  app.option("--config", flags->config, "a file of settings; flags go before it").existing_file();
  app.option("--host", flags->host, "the address to listen on (127.0.0.1); 0.0.0.0: all");
  app.option("--port", flags->port, "of REST and gRPC (8000); 0: any that is free").not_negative();
  app.option("--reactors", flags->reactors, "threads that read and write; 0: one per CPU")
      .not_negative();
  app.option("--workers", flags->workers, "requests that run at a time; 0: one per CPU")
      .not_negative();
  app.option("--threads", flags->threads, "threads of one run; 0: all").not_negative();
  app.flag("--model-control", flags->model_control, "models may be loaded and unloaded by calls");
  app.flag("--shared-memory", flags->shared_memory,
           "clients of this machine may leave tensors in its shared memory");
  app.option("--pack-cache", flags->pack_cache,
             "where packed weights are kept (beside the models); off: nowhere")
      .called("DIR|beside|off");
  app.option("--tls-cert", flags->certificate, "a certificate (PEM): serve over TLS");
  app.option("--tls-key", flags->key, "its key (PEM)");
  app.option("--tls-client-ca", flags->authority,
             "clients must show a certificate that this one signed");
  app.option("--record", flags->record, "a folder for requests that ask to be recorded");
  app.option("--otlp", flags->otlp, "a collector of spans: http://HOST:4318/v1/traces");
  return {app, [flags] { return run(*flags); }};
}

int verify_recorded(const std::string& file, const std::string& model) {
  const auto same = sardonyx::serve::verify_record(file, model);
  if (!same) return complain(same.failure());
  return *same ? kOk : kWrong;
}

}  // namespace sdx::cli
