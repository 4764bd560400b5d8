/** Saves files on the reader's device. */

/** Downloads `content` as a file with this name, through a temporary link. */
export function saveFile(name: string, content: Blob): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  // The browser reads the URL in this task, so it can be released in the next one.
  setTimeout(() => URL.revokeObjectURL(link.href));
}
