#include "base/sync/thread.h"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <utility>

#include <pthread.h>

#include "base/assert.h"

namespace cdc {

Thread::Thread(const std::string& name, std::function<void()> body) {
  start(name, std::move(body));
}

Thread::~Thread() {
  join();
}

void Thread::start(const std::string& name, std::function<void()> body) {
  CDC_ASSERT(!thread_.joinable());
  // Signals belong to the main thread: it waits for them and asks the others to stop.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([name, run = std::move(body)] {
    pthread_setname_np(pthread_self(), name.substr(0, 15).c_str());
    try {
      run();
    } catch (const std::exception& error) {
      std::fprintf(stderr, "kaptanto: internal fault in %s: %s\n", name.c_str(), error.what());
      std::abort();
    }
  });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void Thread::join() {
  if (thread_.joinable()) {
    thread_.join();
  }
}

}  // namespace cdc
