// The name of what is under the mouse, and a camera that follows the robot.
// LABELS: node of the scene → its name; PREFIXES: the same for nodes made later.
if (!window.equipoiseNames) {
  window.equipoiseNames = true;
  const tip = document.createElement("div");
  tip.className = "equipoise-name";
  tip.style.cssText = "position:fixed;display:none;pointer-events:none;z-index:1000;padding:2px 7px;border-radius:4px;" +
    "background:rgba(33,37,41,.88);color:#fff;font:12px system-ui,sans-serif;white-space:nowrap";
  document.body.appendChild(tip);
  const labelOf = (node) => {
    for (const [start, before] of Object.entries(PREFIXES))
      if (node.startsWith(start)) return before + node.slice(start.length).split("/")[0];
    for (let at = node; at; at = at.slice(0, at.lastIndexOf("/"))) if (at in LABELS) return LABELS[at];
    return null;
  };
  const shown = (object) => { for (; object; object = object.parent) if (!object.visible) return false; return true; };
  const nameAt = (viewer, x, y) => {
    const box = viewer.canvas.getBoundingClientRect(), Vector = viewer.camera.position.constructor;
    const origin = viewer.camera.getWorldPosition(new Vector());
    const seen = new Vector(2 * (x - box.left) / box.width - 1, 1 - 2 * (y - box.top) / box.height, 0.5);
    const direction = seen.unproject(viewer.camera).sub(origin).normalize();
    const ray = { ray: { origin, direction }, near: 0, far: Infinity };
    let nearest = Infinity, name = null;
    for (const [node, group] of Object.entries(viewer.nodeRefFromName)) {
      const label = group && labelOf(node);
      if (!label || !shown(group)) continue;
      for (const object of group.children) {
        if (!object.isMesh || !object.visible) continue;
        const hits = [];
        object.raycast(ray, hits);
        for (const hit of hits) if (hit.distance < nearest) [nearest, name] = [hit.distance, label];
      }
    }
    return name;
  };
  let last = null;
  const show = () => {
    const event = last, viewer = window.__viserMutable;
    last = null;
    const free = viewer && viewer.canvas && viewer.camera && viewer.canvas === event.target && !event.buttons;
    const name = free ? nameAt(viewer, event.clientX, event.clientY) : null;
    tip.textContent = name ?? "";
    tip.style.display = name ? "block" : "none";
    tip.style.left = `${event.clientX + 14}px`;
    tip.style.top = `${event.clientY + 10}px`;
  };
  // On a phone viser's panel would cover the robot: it gets the lower third of the window, and all of its width.
  const panel = ".mantine-Paper-root[style*='max-height: 60%']";
  document.head.insertAdjacentHTML("beforeend", "<style>@media (max-width: 600px) {" +
    `${panel} { max-height: 34% !important; width: 100% !important; }` +
    `${panel} div[style*='width: 20em'] { width: 100% !important; }` +
    `body:has(${panel}) div:has(> div > canvas) { max-height: 66vh; } }</style>`);
  window.addEventListener("pointermove", (event) => {
    if (!last) requestAnimationFrame(show);
    last = event;
  });
  document.addEventListener("pointerleave", () => { tip.style.display = "none"; });

  // What the camera looks at stays within `equipoiseRoom` metres of the point below the centre of mass.
  window.equipoiseFollow ??= true;
  const follow = () => {
    requestAnimationFrame(follow);
    const viewer = window.__viserMutable, controls = viewer && viewer.cameraControl;
    const node = viewer && viewer.nodeRefFromName && viewer.nodeRefFromName["/marks/com_ground"];
    if (!window.equipoiseFollow || !controls || !node || !node.parent) return;
    const Vector = viewer.camera.position.constructor, target = controls.getTarget(new Vector());
    const away = node.getWorldPosition(new Vector()).sub(target).setY(0), far = away.length();  // y is up in the page
    if (!(far > window.equipoiseRoom)) return;
    away.multiplyScalar(1 - window.equipoiseRoom / far);
    controls.setLookAt(...controls.getPosition(new Vector()).add(away).toArray(), ...target.add(away).toArray(), false);
  };
  follow();
}
