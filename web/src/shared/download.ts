/** Hands a file to the visitor. */

/** Saves `content` under `name` through a link that exists only for the moment. */
export function saveFile(name: string, content: Blob): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  // The browser has taken its own reference by the next task.
  setTimeout(() => URL.revokeObjectURL(link.href));
}
