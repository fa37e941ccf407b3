// As a Node that is too old for the bundle, or a library that is gone: no process of the host comes up.
throw new Error('this image has no host worker that starts');
