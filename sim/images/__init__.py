"""What a machine starts from: kernel images, programs of user mode, images of disks."""
