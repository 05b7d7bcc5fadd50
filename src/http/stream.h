#pragma once

#include <functional>
#include <string>
#include <utility>

namespace cdc::http {

// The body of an answer that has no end of its own. The connection pulls: it asks for more once the
// socket has taken all that it was given before, so what is unsent never exceeds one helping.
//
// Thread     The server's.
// Lifetime   Released with the connection; the destructor is the first to hear that it is over.
class Stream {
 public:
  virtual ~Stream() = default;

  // Appends the next helping to `out`. Nothing: the connection asks again after wake(). False: the
  // connection ends once `out` is sent.
  [[nodiscard]] virtual bool more(std::string& out) = 0;

  // There may be more now. Has more() called soon, never from within; may be called at any time.
  void wake() const {
    if (waker_) {
      waker_();
    }
  }

  // The connection's side.
  void set_waker(std::function<void()> waker) { waker_ = std::move(waker); }

 private:
  std::function<void()> waker_;
};

}  // namespace cdc::http
