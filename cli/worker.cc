// sardonyx worker: the door to the queue's room.
#include <serve/queue/worker.h>

#include "bounds.h"
#include "serving.h"

namespace sdx::cli {

using sardonyx::serve::QueueSettings;

Command worker_command(CommandLine program) {
  const CommandLine app = program.command("worker", "answer inferences out of a queue (NATS)");
  auto settings = std::make_shared<QueueSettings>();
  auto workers = std::make_shared<int>(0), threads = std::make_shared<int>(1);
  app.option("--nats", settings->url, "the server: nats://[USER:PASSWORD@]HOST[:PORT]").required();
  app.option("--stream", settings->stream, "the JetStream stream of requests").required();
  app.option("--models", settings->server.models, "the folder of models")
      .required()
      .existing_folder();
  app.option("--model", settings->model, "of requests without a header Sardonyx-Model");
  app.option("--consumer", settings->consumer, "the durable consumer that all workers share")
      .show_default();
  app.option("--objects", settings->objects,
             "a folder for results that do not fit into a message; the message refers to them");
  app.option("--inline", settings->inline_bytes, "most bytes of a result in a message")
      .show_default();
  app.option("--pending", settings->pending, "messages at hand at a time; 0: 32 for each worker");
  app.option("--ack-wait", settings->ack_wait_s,
             "seconds without a sign of life after which a message is delivered again")
      .positive()
      .show_default();
  app.option("--tries", settings->tries, "deliveries after which a message is a dead letter")
      .positive()
      .show_default();
  app.option("--workers", *workers, "requests that run at a time; 0: one per CPU").not_negative();
  app.option("--threads", *threads, "threads of one run; 0: all").not_negative().show_default();
  app.flag("--create", settings->create, "make the stream if it is not there");
  app.flag("--until-empty", settings->until_empty, "end when nothing waits any more");
  return {app, [settings, workers, threads] {
            if (wants_sandbox())
              return report(fail("SDX-C0170", "--sandbox: a worker needs its connection"));
            settings->server.workers = size_t(*workers);
            settings->server.defaults.threads = *threads;
            return sardonyx::serve::work_queue(*settings);
          }};
}

}  // namespace sdx::cli
