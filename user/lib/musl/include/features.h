/* Empty: for headers and programs that include it. */
