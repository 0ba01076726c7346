"""Our own agent as a worker: the loop decides, the driver performs, the model answers."""

from __future__ import annotations

import threading
from dataclasses import replace

from agent.loop.drive import Driver
from agent.loop.loop import Loop
from agent.trial.order import Order
from agent.trial.session import Session
from trajectories.interrupts import interruptible
from trajectories.record.exits import Exit
from trajectories.waiting import Event


class LoopWorker:
    """Implements `Worker` with the model of an order."""

    def __init__(self, order: Order) -> None:
        self._model = order.model
        self._expert = order.expert
        self._texts = order.texts
        self._retries = order.retries
        self._warm = Event()

    def warm_up(self) -> None:
        """See `Worker`; the model's imports are slow."""

        def warm_up() -> None:
            try:
                self._model.warm_up()
            finally:
                self._warm.set()

        threading.Thread(target=warm_up, daemon=True).start()

    def work(self, session: Session) -> Exit:
        """See `Worker`."""
        with interruptible():
            self._warm.wait()  # the trial's time begins with the first call, after this
        opening = session.opening
        model, expert = self._model.info, session.order.expert
        fence = model.fence or self._texts.fence
        fence = replace(fence, asks=None if expert is None else fence.asks or self._texts.ask_fence)
        questions = 0 if expert is None else expert.guidance.max
        loop = Loop(opening.messages, session.limits, model.action_format, fence, self._texts, questions)
        driver = Driver(loop, self._model, session, self._retries, self._texts)
        driver.take_in(session.history)
        driver.inherit(opening.inherited)
        if opening.lost_call is not None:
            driver.call_was_lost(opening.lost_call)
        if opening.notice is not None:
            driver.say(opening.notice)
        return driver.run()

    def close(self) -> None:
        """See `Worker`."""
        self._model.close()
        if self._expert is not None:
            self._expert.close()
