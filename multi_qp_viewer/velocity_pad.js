// Pads of the page that command velocities, by pointer and by the arrow keys.
//
// A pad is an element with `data-pad`, its name, and `data-limits`: largest velocity ahead, back, aside [m/s] and turn
// [rad/s]. Shares of the limits, [ahead, left, turn to the left] within ±1, are sent to the web socket /velocity: at
// each change, again every 100 ms while one of them is not zero, and as zeros on release.
if (!window.velocityPads) {
  window.velocityPads = { connected: false };
  const REPEAT = 100; // [ms]
  const RETRY = 3000; // shortest time between connections without input [ms]
  const KEYS = { ArrowUp: [0, 1], ArrowDown: [0, -1], ArrowLeft: [2, 1], ArrowRight: [2, -1] };
  const held = new Set(); // arrow keys
  const dragged = [0, 0, 0];
  let shift = false; // the left and right keys move aside
  let pad = null; // name of the pad that is used
  let pointer = null; // its part that is dragged
  let socket = null;
  let connecting = 0; // when the socket was made [ms]
  let last = [0, 0, 0]; // sent

  const pads = () => [...document.querySelectorAll("[data-pad]")];
  const present = () => pads().find((each) => each.dataset.pad === pad) ?? pads()[0];
  const clamp = (x) => Math.max(-1, Math.min(1, x));

  function shares() {
    const wanted = [...dragged];
    for (const key of held) {
      const [axis, sign] = KEYS[key];
      wanted[axis === 2 && shift ? 1 : axis] += sign;
    }
    return wanted.map(clamp);
  }

  function connected() {
    if (socket === null || socket.readyState > WebSocket.OPEN) {
      const token = new URLSearchParams(location.search).get("token");
      socket = new WebSocket(`${location.origin.replace(/^http/, "ws")}/velocity?token=${encodeURIComponent(token)}`);
      socket.onopen = () => {
        window.velocityPads.connected = true;
        send();
      };
      connecting = Date.now();
    }
    return (window.velocityPads.connected = socket.readyState === WebSocket.OPEN);
  }

  function send() {
    const element = present();
    const wanted = element === undefined ? [0, 0, 0] : shares();
    if (element !== undefined) {
      pad = element.dataset.pad;
      show(element, wanted);
    }
    if (pad === null || !connected()) return;
    if (last.some(Boolean) || wanted.some(Boolean)) socket.send(JSON.stringify({ pad, shares: wanted }));
    last = wanted;
  }

  function show(element, [ahead, left, turn]) {
    const place = (part, x, y) => {
      const knob = element.querySelector(`[data-part=${part}] [data-knob]`);
      knob.style.left = `${50 + 50 * x}%`;
      if (y !== null) knob.style.top = `${50 + 50 * y}%`;
    };
    place("move", -left, -ahead);
    place("turn", -turn, null);
    const [forward, back, aside, rate] = element.dataset.limits.split(",").map(Number);
    const figures = { vx: ahead * (ahead < 0 ? back : forward), vy: left * aside, wz: turn * rate };
    for (const [name, value] of Object.entries(figures)) {
      element.querySelector(`[data-figure=${name}]`).textContent = (value + 0).toFixed(2).replace("-0.00", "0.00");
    }
  }

  function release() {
    held.clear();
    shift = false;
    pointer = null;
    dragged.fill(0);
    send();
  }

  function drag(event) {
    const box = pointer.getBoundingClientRect();
    const x = clamp((2 * (event.clientX - box.left)) / box.width - 1);
    const y = clamp((2 * (event.clientY - box.top)) / box.height - 1);
    dragged.fill(0);
    if (pointer.dataset.part === "turn") dragged[2] = -x;
    else [dragged[0], dragged[1]] = [-y, -x];
    send();
  }

  function isInput(element) {
    return element.closest?.("input, textarea, select, [contenteditable], [role=slider], [role=dialog]") != null;
  }

  document.addEventListener("pointerdown", (event) => {
    const part = event.target.closest?.("[data-pad] [data-part]");
    if (!part) return;
    event.preventDefault();
    pointer = part;
    pad = part.closest("[data-pad]").dataset.pad;
    part.setPointerCapture(event.pointerId);
    drag(event);
  });
  document.addEventListener("pointermove", (event) => pointer && drag(event));
  for (const end of ["pointerup", "pointercancel", "lostpointercapture"]) {
    document.addEventListener(end, () => {
      if (pointer === null) return;
      pointer = null;
      dragged.fill(0);
      send();
    });
  }

  // In the capture phase of the window, before the viewer, which moves its camera by the same keys.
  window.addEventListener("keydown", (event) => {
    if (event.key === "Shift") shift = true;
    else if (!(event.code in KEYS) || present() === undefined) return;
    else if (isInput(event.target) || event.ctrlKey || event.altKey || event.metaKey) return;
    else {
      event.preventDefault();
      event.stopImmediatePropagation();
      shift = event.shiftKey;
      held.add(event.code);
    }
    if (held.size > 0 && !event.repeat) send();
  }, true);
  window.addEventListener("keyup", (event) => {
    if (event.key === "Shift") shift = false;
    else if (!held.delete(event.code)) return;
    send();
  }, true);
  window.addEventListener("blur", release);
  document.addEventListener("visibilitychange", () => document.hidden && release());
  window.setInterval(() => {
    if (last.some(Boolean)) send();
    // before the first input: a short press would end before its connection is open
    else if (present() !== undefined && Date.now() > connecting + RETRY) connected();
  }, REPEAT);
}
