export function openWallboard() {
  location.hash = '#jobs';
}
